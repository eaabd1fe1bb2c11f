--- What changes between two texts, for a person: a unified diff, with bounds on the work and on what comes out.
---
---     local diff = require "hocket.internal.run.diff"
---     local made = diff.unified("one\ntwo\n", "one\nthree\n")
---     print(made.text, made.added, made.removed)
local diff = {}

--- Lines around a change.
local CONTEXT = 3
--- Steps of the search for the shortest way from one text to the other, about a tenth of a second. Texts that differ more
--- are reported as all of the one and all of the other.
local STEPS = 1000000
--- Bytes of the whole, and of one line.
local BYTES, LINE_BYTES = 64 * 1024, 4000
local HEAD, TAIL = 2000, 1000

-- Lines with their ends: one without an end is another line than one with it.
local function lines_of(text)
  local lines = {}
  for line in text:gmatch "[^\n]*\n?" do
    if line ~= "" then lines[#lines + 1] = line end
  end
  return lines
end

-- ---- The shortest way (Myers) -----------------------------------------------------------------

-- How far one gets on diagonal k with d changes, before the lines that are the same.
local function step_to(furthest, k, d)
  if k == -d or k ~= d and furthest[k - 1] < furthest[k + 1] then return furthest[k + 1] end
  return furthest[k - 1] + 1
end

-- Goes back along the states of the search, and marks what went and what came.
local function trace(states, d, x, y, first, gone, come)
  for at = d, 1, -1 do
    local before, k = states[at], x - y
    local down = k == -at or k ~= at and before[k - 1] < before[k + 1]
    local from = down and k + 1 or k - 1
    local from_x = before[from]
    local from_y = from_x - from
    if down then come[first + from_y] = true else gone[first + from_x] = true end
    x, y = from_x, from_y
  end
end

-- Marks what changes in a[first .. last_a] and b[first .. last_b]; false when that takes too long to find.
local function search(a, b, first, last_a, last_b, gone, come)
  local n, m, steps = last_a - first + 1, last_b - first + 1, 0
  local furthest, states = { [1] = 0 }, {}
  for d = 0, n + m do
    local now = {}
    for k = -d, d, 2 do
      local x = d == 0 and 0 or step_to(furthest, k, d)
      local y = x - k
      while x < n and y < m and a[first + x] == b[first + y] do
        x, y, steps = x + 1, y + 1, steps + 1
      end
      now[k] = x
      if x >= n and y >= m then
        trace(states, d, x, y, first, gone, come)
        return true
      end
    end
    steps = steps + d + 1
    if steps > STEPS then return false end
    -- What the next round looks at: diagonals beyond the last ones are where nobody was.
    now[-d - 2], now[d + 2], now[-d - 1], now[d + 1] = -1, -1, now[-d - 1] or -1, now[d + 1] or -1
    furthest, states[d + 1] = now, now
  end
  return false
end

-- Which lines of a go, and which of b come.
local function compare(a, b)
  local first, last_a, last_b = 1, #a, #b
  while first <= last_a and first <= last_b and a[first] == b[first] do first = first + 1 end
  while last_a >= first and last_b >= first and a[last_a] == b[last_b] do last_a, last_b = last_a - 1, last_b - 1 end
  local gone, come = {}, {}
  if first <= last_a and first <= last_b and search(a, b, first, last_a, last_b, gone, come) then return gone, come end
  gone, come = {}, {}
  for i = first, last_a do gone[i] = true end
  for j = first, last_b do come[j] = true end
  return gone, come
end

-- ---- In words --------------------------------------------------------------------------------------

local function shortened(line)
  if #line <= LINE_BYTES then return line, false end
  local head, tail = utf8.offset(line, 0, HEAD) or HEAD, utf8.offset(line, 0, #line - TAIL) or #line - TAIL
  return ("%s [… %d bytes …] %s"):format(line:sub(1, head - 1), tail - head, line:sub(tail)), true
end

-- A line with its sign, and what is to be said of its end.
local function add_line(hunk, sign, line)
  local text, cut = shortened(line)
  hunk.cut = hunk.cut or cut
  hunk[#hunk + 1] = sign .. (text:sub(-1) == "\n" and text or text .. "\n\\ No newline at end of file\n")
end

local function header(hunk)
  local function range(from, count) return count == 1 and tostring(from) or ("%d,%d"):format(count == 0 and from - 1 or from, count) end
  return ("@@ -%s +%s @@\n"):format(range(hunk.a, hunk.old), range(hunk.b, hunk.new))
end

local function open(hunks, a, i, j)
  local lead = math.min(CONTEXT, i - 1, j - 1)
  local hunk = { a = i - lead, b = j - lead, old = lead, new = lead, quiet = 0 }
  for at = i - lead, i - 1 do add_line(hunk, " ", a[at]) end
  hunks[#hunks + 1] = hunk
  return hunk
end

-- Takes back what is more than the lines around the last change.
local function close(hunk)
  for _ = CONTEXT + 1, hunk.quiet do
    hunk[#hunk] = nil
    hunk.old, hunk.new = hunk.old - 1, hunk.new - 1
  end
end

local function hunks_of(a, b, gone, come)
  local hunks, hunk, i, j = { added = 0, removed = 0 }, nil, 1, 1
  while i <= #a or j <= #b do
    if gone[i] or come[j] then
      hunk = hunk or open(hunks, a, i, j)
      hunk.quiet = 0
    end
    if gone[i] then
      add_line(hunk, "-", a[i])
      i, hunk.old, hunks.removed = i + 1, hunk.old + 1, hunks.removed + 1
    elseif come[j] then
      add_line(hunk, "+", b[j])
      j, hunk.new, hunks.added = j + 1, hunk.new + 1, hunks.added + 1
    else
      if hunk then
        add_line(hunk, " ", a[i])
        hunk.old, hunk.new, hunk.quiet = hunk.old + 1, hunk.new + 1, hunk.quiet + 1
        if hunk.quiet > 2 * CONTEXT then
          close(hunk)
          hunk = nil
        end
      end
      i, j = i + 1, j + 1
    end
  end
  if hunk then close(hunk) end
  return hunks
end

-- As much as there is room for, by whole lines; how many lines were left out.
local function joined(hunks)
  local parts, bytes, left, cut = {}, 0, 0, false
  local function add(text)
    if left > 0 or bytes + #text > BYTES then
      left = left + 1
    else
      bytes, parts[#parts + 1] = bytes + #text, text
    end
  end
  for _, hunk in ipairs(hunks) do
    add(header(hunk))
    for _, line in ipairs(hunk) do add(line) end
    cut = cut or hunk.cut or false
  end
  return table.concat(parts), left, cut or left > 0
end

--- The lines that change, with three around each. Of very long texts and lines a part is left out, which `cut` says.
---@param before string UTF-8, as after; "" for a text that is new.
---@param after string
---@return {text: string, added: integer, removed: integer, left_out: integer, cut: boolean} left_out: lines at the end.
function diff.unified(before, after)
  local a, b = lines_of(before), lines_of(after)
  local hunks = hunks_of(a, b, compare(a, b))
  local text, left, cut = joined(hunks)
  return { text = text, added = hunks.added, removed = hunks.removed, left_out = left, cut = cut }
end

return diff

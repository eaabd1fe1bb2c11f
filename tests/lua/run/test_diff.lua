--- What changes between two texts: exact, the shortest that there is where that can be found, and bounded.
local t = require "harness"
local diff = require "hocket.internal.run.diff"

local function text(before, after)
  return diff.unified(before, after).text
end

t.test("as patch(1) reads it", function()
  t.equal(text("one\ntwo\nx\n", "one\nthree\nx\n"), "@@ -1,3 +1,3 @@\n one\n-two\n+three\n x\n")
  t.equal(text("", "a\nb\n"), "@@ -0,0 +1,2 @@\n+a\n+b\n")
  t.equal(text("a\n", ""), "@@ -1 +0,0 @@\n-a\n")
  t.equal(text("a\n", "a\n"), "")
  t.equal(text("", ""), "")
  t.equal(text("a", "a\n"), "@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+a\n")
  t.equal(text("\n\n", "\n"), "@@ -1,2 +1 @@\n \n-\n")
  local made = diff.unified("a\nb\nc\n", "a\nc\nd\n")
  t.same({ made.added, made.removed, made.left_out, made.cut }, { 1, 1, 0, false })
end)

t.test("changes that are far from each other stand in pieces of their own, near ones in one", function()
  local lines = {}
  for i = 1, 40 do lines[i] = "line " .. i end
  local before = table.concat(lines, "\n") .. "\n"
  lines[5], lines[11], lines[30] = "five", "eleven", "thirty"
  local made = text(before, table.concat(lines, "\n") .. "\n")
  local heads = {}
  for head in made:gmatch "@@[^\n]*@@" do heads[#heads + 1] = head end
  t.same(heads, { "@@ -2,13 +2,13 @@", "@@ -27,7 +27,7 @@" })
  t.matches(made, "\n line 8\n.* line 14\n@@ %-27.* line 33\n$")
end)

-- Applies a diff, and complains about what does not fit.
local function apply(before, made)
  local old, at, out = {}, 1, {}
  for line in before:gmatch "[^\n]*\n?" do if line ~= "" then old[#old + 1] = line end end
  local entries = {}
  for line in made:gmatch "([^\n]*)\n" do
    if line:sub(1, 1) == "\\" then entries[#entries] = entries[#entries]:sub(1, -2) else entries[#entries + 1] = line .. "\n" end
  end
  for _, line in ipairs(entries) do
    local sign, rest = line:sub(1, 1), line:sub(2)
    if sign == "@" then
      local from, count = line:match "^@@ %-(%d+),?(%d*)"
      local first = count == "0" and from + 1 or math.tointeger(from)
      while at < first do out[#out + 1], at = old[at], at + 1 end
    elseif sign == "+" then
      out[#out + 1] = rest
    else
      t.equal(old[at], rest)
      if sign == " " then out[#out + 1] = rest end
      at = at + 1
    end
  end
  return table.concat(out) .. table.concat(old, "", at)
end

local function random_text(letters)
  local lines = {}
  for i = 1, math.random(0, 40) do lines[i] = string.char(96 + math.random(letters)) .. "\n" end
  return table.concat(lines) .. (math.random(3) == 1 and "end" or "")
end

-- How many lines both have in the same order, at most.
local function in_common(a, b)
  local x, y, best = {}, {}, {}
  for line in a:gmatch "[^\n]+\n?" do x[#x + 1] = line end
  for line in b:gmatch "[^\n]+\n?" do y[#y + 1] = line end
  for i = 0, #x do best[i] = { [0] = 0 } end
  for j = 0, #y do best[0][j] = 0 end
  for i = 1, #x do
    for j = 1, #y do best[i][j] = x[i] == y[j] and best[i - 1][j - 1] + 1 or math.max(best[i - 1][j], best[i][j - 1]) end
  end
  return best[#x][#y], #x, #y
end

t.test("random texts: what is applied gives the other text, and nothing shorter would", function()
  math.randomseed(7)
  for _ = 1, 400 do
    local before, after = random_text(math.random(2, 8)), random_text(math.random(2, 8))
    local made = diff.unified(before, after)
    t.equal(apply(before, made.text), after)
    local same, n, m = in_common(before, after)
    t.same({ made.removed, made.added }, { n - same, m - same })
  end
end)

t.test("texts that have little in common and long lines take a moment, and say that something is left out", function()
  local a, b = {}, {}
  for i = 1, 20000 do a[i], b[i] = "old " .. i, math.random(5000) .. " new" end
  local began = os.clock()
  local made = diff.unified(table.concat(a, "\n"), table.concat(b, "\n"))
  t.ok(os.clock() - began < 5, "it took " .. os.clock() - began .. " s")
  t.same({ made.added, made.removed, made.cut }, { 20000, 20000, true })
  t.ok(#made.text <= 64 * 1024 and made.left_out > 30000)
  made = diff.unified("", ("ä"):rep(100000) .. "END")
  t.same({ made.added, made.cut, made.left_out }, { 1, true, 0 })
  t.ok(utf8.len(made.text), "cut between characters")
  t.matches(made.text, "ä %[… %d+ bytes …%] ä")
  t.has(made.text, "äEND\n\\ No newline at end of file\n")
end)

return t.finish()

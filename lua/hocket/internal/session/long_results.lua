--- Results that are too long for a conversation are stored, and passed by reference. The model sees their first and last lines
--- and a handle, with which it reads or searches the rest. The same goes for folded turns.
local fence = require "hocket.fence"
local files = require "hocket.internal.core.files"
local json = require "hocket.json"
local labels = require "hocket.internal.base.labels"
local tool = require "hocket.tool"

local long_results = {}

--- Bytes that are shown of a result at once, at most, and of a longer one: a part of that.
long_results.SHOWN = 64 * 1024
local HEAD, TAIL = 3 / 16, 1 / 16
--- Bytes of one answer of read_result.
local PIECE = 48 * 1024
local MAX_FOUND = 100

local function cut_back(text, stop)
  if stop >= #text then return text end
  return text:sub(1, utf8.offset(text, 0, stop + 1) - 1)
end

-- From a place on, not from within a character.
local function from_place(text, from)
  if from > #text then return "" end
  return text:sub(utf8.offset(text, 0, from) or from)
end

local function count_lines(text)
  local _, n = text:gsub("\n", "")
  return text:sub(-1) == "\n" and n or n + 1
end

-- At the end of a line, where one is near.
local function to_line_end(head)
  local at = head:sub(-1024):match "^.*()\n"
  return at and head:sub(1, #head - math.min(#head, 1024) + at) or head
end

local function from_line(tail)
  local at = tail:sub(1, 1024):match "\n()"
  return at and tail:sub(at) or tail
end

--- A result as the model is shown it: itself, or its first and last lines and the handle of it all.
---@param store hocket.Handles
---@param text string
---@param limit integer Bytes that are shown whole.
---@param bits? integer Its labels.
---@return string shown
---@return string? id
function long_results.show(store, text, limit, bits)
  if #text <= limit then return text end
  local id = store:keep("res", text, bits)
  text = store:get(id) or text
  local head, tail = to_line_end(cut_back(text, math.floor(limit * HEAD))), from_line(from_place(text, #text - math.floor(limit * TAIL)))
  return ("%s\n[… %d bytes are left out here. The whole result, %d bytes in %d lines, is kept as \"%s\": read_result gives parts of it, search_result finds lines.]\n%s")
    :format(head, #text - #head - #tail, #text, count_lines(text), id, tail), id
end

-- ---- The tool ---------------------------------------------------------------------------------

-- Lines with a text, whatever its letters' case. `found` is added to; returns whether there is room for more.
local function find(text, what, prefix, found)
  local lower, number, from = text:lower(), 0, 1
  local at = lower:find(what, 1, true)
  while at do
    local begin = at - #lower:sub(from, at - 1):match "[^\n]*$"
    number = number + select(2, lower:sub(from, begin - 1):gsub("\n", ""))
    local stop = text:find("\n", at, true) or #text + 1
    if #found == MAX_FOUND then
      found[#found + 1] = ("[the first %d lines with it; search for something rarer]"):format(MAX_FOUND)
      return false
    end
    found[#found + 1] = ("%s%d: %s"):format(prefix, number + 1, cut_back(text:sub(begin, stop - 1), 300))
    number, from = number + 1, stop + 1
    at = lower:find(what, from, true)
  end
  return true
end

local function part(text, args, limit)
  if args.first_byte then
    if args.first_byte > #text then return ("[it has only %d bytes]"):format(#text) end
    local piece = cut_back(from_place(text, args.first_byte), limit)
    local stop = args.first_byte + #piece - 1
    return stop < #text and ("%s\n[bytes %d to %d of %d; go on with first_byte = %d]"):format(piece, args.first_byte, stop, #text, stop + 1) or piece
  end
  local piece, first, last, total, cut = files.lines(text, args.first_line or 1, args.lines or 1000, limit)
  if last < first then return ("[it has only %d lines]"):format(total) end
  if cut then return piece .. ("\n[line %d is cut here: it is too long to be shown; read on by first_byte]"):format(last) end
  return last < total and ("%s[lines %d to %d of %d; go on with first_line = %d]"):format(piece, first, last, total, last + 1) or piece
end

local id = { type = "string", description = "The handle that stood in the conversation, as in res1 or fold2." }
local reading = {
  type = "object", required = { "id" }, additionalProperties = false,
  properties = json.object {
    { "id", id },
    { "first_line", { type = "integer", minimum = 1, description = "Begin with this line. Default: 1." } },
    { "lines", { type = "integer", minimum = 1, maximum = 5000, description = "At most so many lines. Default: 1000." } },
    { "first_byte", { type = "integer", minimum = 1, description = "In place of lines: begin with this byte, for very long lines." } },
  },
}
local searching = {
  type = "object", required = { "text" }, additionalProperties = false,
  properties = { text = { type = "string", minLength = 1, description = "Lines that have this text are given." },
    id = { type = "string", description = "Where to search. Default: in all that is kept." } },
}

-- What is read has the labels that it was kept with; a part of a fence is none.
local function hand_out(text, bits, id, piece, ctx)
  for _, name in ipairs(bits ~= 0 and ctx and ctx.mark and labels.names(bits) or {}) do ctx.mark(name) end
  return (fence.is_in(text) or id:find "^fold") and fence.wrap("output", id, piece) or piece
end

local function read(store, limit)
  return function(args, ctx)
    local text, bits = store:get(args.id)
    if not text then return nil, bits end
    return hand_out(text, bits, args.id, part(text, args, limit), ctx)
  end
end

local function search(store)
  return function(args, ctx)
    local found, what, all, fenced = {}, args.text:lower(), 0, false
    for name in store:ids() do
      if not args.id or args.id == name then
        local text, bits = store:get(name)
        local before = #found
        local more = text and find(text, what, args.id and "" or name .. " ", found)
        if #found > before then all, fenced = all | bits, fenced or fence.is_in(text) or name:find "^fold" ~= nil end
        if more == false then break end
      end
    end
    if args.id and not store:get(args.id) then return nil, select(2, store:get(args.id)) end
    if #found == 0 then return "[no line has that text]" end
    return hand_out("", all, fenced and "fold" or "res", table.concat(found, "\n"), ctx)
  end
end

--- The tools `read_result` and `search_result` for one conversation.
---@param store hocket.Handles
---@param limit? integer Bytes that one answer may have.
---@return hocket.Tool[]
function long_results.tools(store, limit)
  limit = math.min(limit or PIECE, PIECE)
  return {
    tool.new { steps = true, name = "read_result", parameters = reading, effects = { "read" }, subject = "id", run = read(store, limit),
      description = "Read a part of a text that is kept: a long result, or earlier turns of this conversation." },
    tool.new { steps = true, name = "search_result", parameters = searching, effects = { "read" }, subject = "text", run = search(store),
      description = "Find lines in what is kept: in one text, or in all of them." },
  }
end

return long_results

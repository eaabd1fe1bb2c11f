--- Results that are too long for a conversation are kept, and handed out by reference: the model is
--- shown both ends and reads or searches the rest with `read_output`. They live as long as the
--- conversation; the oldest give way when there is too much.
local fence = require "hocket.fence"
local files = require "hocket.internal.core.files"
local tool = require "hocket.tool"

local long_results = {}

--- Bytes that are shown of a result at once.
long_results.SHOWN = 64 * 1024
--- What is shown of a longer one.
local HEAD, TAIL = 12 * 1024, 4 * 1024
--- Bytes of one answer of read_output.
local PIECE = 48 * 1024
--- Bytes kept, in all.
local KEPT = 64 * 1024 * 1024
local MAX_FOUND = 100

---@class hocket.Outputs
local Outputs = {}
Outputs.__index = Outputs

---@return hocket.Outputs
function long_results.new()
  return setmetatable({ texts = {}, first = 1, count = 0, bytes = 0 }, Outputs)
end

local function cut_back(text, stop)
  if stop >= #text then return text end
  return text:sub(1, utf8.offset(text, 0, stop + 1) - 1)
end

-- From a place on, not from within a character.
local function from_place(text, from)
  if from > #text then return "" end
  return text:sub(utf8.offset(text, 0, from) or from)
end

local function valid(text)
  if utf8.len(text) then return text end
  return (text:gsub("[\128-\255]", "?"))
end

local function count_lines(text)
  local _, n = text:gsub("\n", "")
  return text:sub(-1) == "\n" and n or n + 1
end

--- Keeps a text and gives its id.
---@param text string
---@return string id
function Outputs:keep(text)
  self.count = self.count + 1
  self.texts[self.count] = text
  self.bytes = self.bytes + #text
  while self.bytes > KEPT and self.first < self.count do
    self.bytes = self.bytes - #self.texts[self.first]
    self.texts[self.first] = nil
    self.first = self.first + 1
  end
  return ("out%d"):format(self.count)
end

--- A result as the model is shown it, and whether it was kept.
---@param text string
---@return string
---@return boolean kept
function Outputs:show(text)
  if #text <= long_results.SHOWN then return text, false end
  local id = self:keep(valid(text))
  text = self.texts[self.count]
  local head, tail = cut_back(text, HEAD), from_place(text, #text - TAIL)
  return ("%s\n[… %d bytes are left out here. The whole result, %d bytes in %d lines, is kept as \"%s\": read_output gives parts of it, or finds lines.]\n%s")
    :format(head, #text - #head - #tail, #text, count_lines(text), id, tail), true
end

-- ---- The tool ---------------------------------------------------------------------------------

local function find(text, what)
  local found, number, from = {}, 0, 1
  while from <= #text do
    local stop = text:find("\n", from, true) or #text + 1
    number = number + 1
    local at = text:find(what, from, true)
    if not at then break end
    if at < stop then
      found[#found + 1] = ("%d: %s"):format(number, cut_back(text:sub(from, stop - 1), 300))
      if #found == MAX_FOUND then
        found[#found + 1] = ("[the first %d lines with it; search for something rarer]"):format(MAX_FOUND)
        break
      end
    end
    from = stop + 1
  end
  return #found > 0 and table.concat(found, "\n") or "[no line has that text]"
end

local function part(text, args)
  if args.first_byte then
    if args.first_byte > #text then return ("[it has only %d bytes]"):format(#text) end
    local piece = cut_back(from_place(text, args.first_byte), PIECE)
    local stop = args.first_byte + #piece - 1
    return stop < #text and ("%s\n[bytes %d to %d of %d; go on with first_byte = %d]"):format(piece, args.first_byte, stop, #text, stop + 1) or piece
  end
  local piece, first, last, total, cut = files.lines(text, args.first_line or 1, args.lines or 1000, PIECE)
  if last < first then return ("[it has only %d lines]"):format(total) end
  if cut then return piece .. ("\n[line %d is cut here: it is too long to be shown; read on by first_byte]"):format(last) end
  return last < total and ("%s[lines %d to %d of %d; go on with first_line = %d]"):format(piece, first, last, total, last + 1) or piece
end

local parameters = {
  type = "object", required = { "id" }, additionalProperties = false,
  properties = {
    id = { type = "string", description = "The id that stood in the result, as in out1." },
    first_line = { type = "integer", minimum = 1, description = "Begin with this line. Default: 1." },
    lines = { type = "integer", minimum = 1, maximum = 5000, description = "At most so many lines. Default: 1000." },
    first_byte = { type = "integer", minimum = 1, description = "In place of lines: begin with this byte, for very long lines." },
    search = { type = "string", minLength = 1, description = "In place of a part: give the lines with this text, with their numbers." },
  },
}

--- The tool `read_output` for one conversation.
---@param store hocket.Outputs
---@return hocket.Tool
function long_results.tool(store)
  return tool.new {
    steps = true, name = "read_output", parameters = parameters, effects = { "read" }, subject = "id",
    description = "Read a part of a long result that was kept, or find lines in it.",
    run = function(args)
      local number = tonumber(args.id:match "^out(%d+)$")
      local text = number and store.texts[number]
      if not text then
        return nil, store.count == 0 and "no result is kept" or ("there is no result '%s' (kept are out%d to out%d)"):format(args.id:sub(1, 40), store.first, store.count)
      end
      local piece = args.search and find(text, args.search) or part(text, args)
      return fence.is_in(text) and fence.wrap("output", args.id, piece) or piece -- a part of a fence is none
    end,
  }
end

return long_results

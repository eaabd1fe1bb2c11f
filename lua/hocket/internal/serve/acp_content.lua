--- What a person's prompt holds, as the Agent Client Protocol has it: the words, and what goes along with them.
---
---     text, resource_link ──> words, in order        "Look at [@notes.md](file:///home/me/notes.md)"
---     image, audio, resource ──> files               as if they had been attached: a text in a fence of its own
local url_encoding = require "hocket.internal.base.http.url_encoding"
local json = require "hocket.json"
local media = require "hocket.internal.base.media"
local system = require "hocket.internal.core.system"

local acp_content = {}

--- Blocks of one prompt.
local MAX_BLOCKS = 1000

local function wrong(text, ...)
  error({ code = -32602, message = text:format(...) }, 0)
end

local function text_field(block, name, i)
  local value = block[name]
  if type(value) ~= "string" then wrong("prompt[%d].%s has to be a text", i, name) end
  return value
end

-- A path says more to a model than an address of it, and hides less.
local function name_of(uri)
  return url_encoding.unescape((uri:gsub("^file://", "")))
end

local function as_file(data, name, i)
  local one, err = media.of(data, name)
  if not one then wrong("prompt[%d]: %s", i, err.message) end
  return one
end

local function from_base64(block, name, i)
  local data = system.unbase64(text_field(block, name, i))
  if not data then wrong("prompt[%d].%s is no base64", i, name) end
  return data
end

local function binary(block, i, _, files)
  local uri = type(block.uri) == "string" and name_of(block.uri) or nil
  local one = as_file(from_base64(block, "data", i), uri, i)
  if one.kind ~= block.type then wrong("prompt[%d] is said to be of the type '%s', and is %s", i, block.type, one.mime) end
  files[#files + 1] = one
end

local readers = {}

function readers.text(block, i, words)
  words[#words + 1] = text_field(block, "text", i)
end

function readers.resource_link(block, i, words)
  local uri = text_field(block, "uri", i)
  local name = type(block.name) == "string" and block.name or uri:match "[^/]+$" or uri
  words[#words + 1] = ("[@%s](%s)"):format(name, uri:find "^file://" and name_of(uri) or uri)
end

readers.image, readers.audio = binary, binary

function readers.resource(block, i, words, files)
  local of = block.resource
  if type(of) ~= "table" then wrong("prompt[%d].resource has to be an object", i) end
  local name = name_of(text_field(of, "uri", i))
  if of.text == "" then
    words[#words + 1] = ("[%s is empty]"):format(name)
  elseif of.text ~= nil then
    files[#files + 1] = as_file(text_field(of, "text", i), name, i)
    words[#words + 1] = ("[@%s]"):format(name)
  else
    files[#files + 1] = as_file(from_base64(of, "blob", i), name, i)
  end
end

--- Reads a prompt. What is wrong with it is raised, as an error of the protocol.
---@param blocks any
---@return string words
---@return hocket.Media[] files
function acp_content.read(blocks)
  if type(blocks) ~= "table" or not json.is_array(blocks) or #blocks == 0 then wrong "'prompt' has to be a list of blocks" end
  if #blocks > MAX_BLOCKS then wrong("a prompt has at most %d blocks", MAX_BLOCKS) end
  local words, files = {}, {}
  for i, block in ipairs(blocks) do
    local read = type(block) == "table" and readers[block.type]
    if not read then wrong("prompt[%d].type has to be text, image, audio, resource_link or resource", i) end
    read(block, i, words, files)
  end
  local too_much = media.too_much(files)
  if too_much then wrong("%s", too_much.message) end
  return table.concat(words), files
end

--- A text as a block.
---@param text string
---@return table
function acp_content.text(text)
  return { type = "text", text = text }
end

return acp_content

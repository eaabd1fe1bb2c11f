--- What models take beside words: what the protocol has a form for, and what the table knows of the model. Of other models it is
--- not known: they are given it, and their provider has the word.
local failed = require("hocket.internal.core.system").error
local media = require "hocket.internal.base.media"
local providers = require "hocket.providers"

local takes = {}

local forms = {
  openai_chat = { image = true, audio = true, file = true }, openai_responses = { image = true, file = true },
  anthropic = { image = true, file = true }, gemini = { image = true, audio = true, video = true, file = true }, ollama = { image = true }, bedrock = { image = true, file = true },
}

-- What each protocol takes of the formats; nothing is said where it takes all.
local usual = { ["image/png"] = true, ["image/jpeg"] = true, ["image/gif"] = true, ["image/webp"] = true }
local formats = {
  openai_chat = { image = usual, audio = { ["audio/wav"] = true, ["audio/mpeg"] = true } }, openai_responses = { image = usual },
  anthropic = { image = usual }, ollama = { image = usual }, bedrock = { image = usual },
}

-- Who gets pictures by their address.
local addressed = { openai_chat = true, openai_responses = true, anthropic = true, gemini = true }

-- Bytes of a picture.
local largest = { anthropic = 5 * 1024 * 1024 }

-- Patterns of names, whoever offers them; the first one that fits. What it takes, and with "-" what it is known not to take; of the
-- rest nobody here knows.
local words, sees = "-image -audio -video -file", "image file -audio -video"
local list = {
  { "^gpt%-3", words }, { "^gpt%-4o%-?%w*%-audio", "audio -image -video" }, { "^gpt%-audio", "audio -video" }, { "^gpt%-4%-turbo", "image -audio -video" },
  { "^gpt%-4$", words }, { "^gpt%-4%-%d", words }, { "^gpt%-4[o.]", sees }, { "^gpt%-oss", words }, { "^gpt%-[5-9]", sees }, { "^o[13]%-mini", words },
  { "^o[134]%f[^%w]", sees }, { "^claude%-[12]", words }, { "^claude%-3%-haiku", "image -audio -video -file" }, { "^claude%-3%-[os]", "image -audio -video -file" }, { "^claude", sees },
  { "^gemini.*embedding", words }, { "^gemini", "image audio video file" }, { "^gemma%-?3n", "image audio" }, { "^gemma%-?3", "image" },
  { "^deepseek%-chat", words }, { "^deepseek%-reasoner", words }, { "^deepseek%-coder", words }, { "^codestral", words }, { "^pixtral", "image -audio" },
  { "^mistral%-medium", "image" }, { "^grok%-3", words }, { "^grok%-code", words }, { "^grok%-4", "image" }, { "^llava", "image" },
}

-- Who takes it, for the ones who ask.
local known = {
  image = "anthropic/claude-sonnet-5, gemini/gemini-3.5-flash, openai/gpt-6.1-terra", file = "anthropic/claude-sonnet-5, gemini/gemini-3.5-flash, openai/gpt-6.1-terra",
  audio = "gemini/gemini-3.5-flash, openai-chat/gpt-4o-audio-preview", video = "gemini/gemini-3.5-flash",
}

local function in_table(model)
  if model.simulated or providers.is_local(model.provider_name) and model.provider_name ~= "ollama" then return nil end
  local name = providers.plain_model(model.name)
  for _, row in ipairs(list) do
    if name:find(row[1]) then return row[2] end
  end
end

--- Whether a model takes a kind; nil: nobody knows.
---@param model hocket.Model
---@param kind "image"|"audio"|"video"|"file"|"text"
---@return boolean?
function takes.kind(model, kind)
  if kind == "text" then return true end
  local form = forms[model.protocol]
  if form and not form[kind] then return false end
  local row = in_table(model)
  if not row then return nil end
  for word in row:gmatch "%S+" do
    if word == kind then return true elseif word == "-" .. kind then return false end
  end
end

--- Why a model cannot be given it, if it cannot.
---@param model hocket.Model
---@param one hocket.Media
---@return hocket.Error?
function takes.refusal(model, one)
  local id, which = model.id or "the model", one.name and (" (%s)"):format(one.name) or ""
  if takes.kind(model, one.kind) == false then
    return failed { code = "unsupported", message = ("%s takes no %ss%s: %s do"):format(id, media.word(one.kind), which, known[one.kind]) }
  end
  if one.url then
    if addressed[model.protocol] then return nil end
    return failed { code = "unsupported", message = ("%s takes no picture by its address: give it as a file"):format(id) }
  end
  local those = (formats[model.protocol] or {})[one.kind]
  if those and not those[one.mime] then
    local names = {}
    for mime in pairs(those) do names[#names + 1] = mime end
    table.sort(names)
    return failed { code = "unsupported", message = ("%s takes no %s%s: convert it to one of %s, or take gemini/gemini-3.5-flash"):format(id, one.mime, which, table.concat(names, ", ")) }
  end
  local most = one.kind == "image" and largest[model.protocol]
  if most and #one.data > most then
    return failed { code = "limit", message = ("the picture%s has %d bytes, and %s takes at most %d: make it smaller"):format(which, #one.data, id, most) }
  end
end

return takes

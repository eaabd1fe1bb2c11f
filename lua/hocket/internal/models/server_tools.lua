--- Tools that a provider runs itself (`server_tools:`): what each is called where, and what may be said of it. What a provider's tool does not
--- know is refused and not left out: a search that was to stay on two sites must not go anywhere else.
local askers = require "hocket.internal.models.asker"
local json = require "hocket.json"
local failed = require("hocket.internal.core.system").error

local server_tools = {}

local function is_texts(value)
  if type(value) ~= "table" or #value == 0 then return false end
  for _, text in ipairs(value) do
    if type(text) ~= "string" or text == "" then return false end
  end
  return true
end

local function is_count(value) return math.type(value) == "integer" and value > 0 end

-- By tool, its options: {whether a value fits, what is expected}.
local texts, count = { is_texts, "a list of texts" }, { is_count, "a whole number from 1 on" }
local size = { function(v) return v == "low" or v == "medium" or v == "high" end, "low, medium or high" }
local known = {
  web_search = { max_uses = count, allowed_domains = texts, blocked_domains = texts, size = size },
  web_fetch = { max_uses = count, allowed_domains = texts, blocked_domains = texts },
  code_execution = {},
  file_search = { stores = texts, max_results = count },
  image_generation = {},
}

--- Their names, sorted.
server_tools.names = { "code_execution", "file_search", "image_generation", "web_fetch", "web_search" }

local function wrong_options(name, options)
  if type(options) ~= "table" then return "", "must be names with values" end
  for option, value in pairs(options) do
    local kind = known[name][option]
    if not kind then return "/" .. tostring(option), ("is nothing that %s knows"):format(name) end
    if not kind[1](value) then return "/" .. option, "must be " .. kind[2] end
  end
  if name == "file_search" and not options.stores then return "", "needs 'stores', the ids of what is to be searched" end
  if options.allowed_domains and options.blocked_domains then return "", "has both 'allowed_domains' and 'blocked_domains': it is one of them" end
end

--- Reads them: names, or names with options.
---@param value any `{"web_search", {web_search = {max_uses = 3}}}`
---@param say fun(where: string, what: string)
---@return {name: string, options: table}[]
function server_tools.read(value, say)
  local list, seen = {}, {}
  for i, one in ipairs(type(value) == "table" and value or {}) do
    local name, options, at = one, {}, ("/%d"):format(i - 1)
    if type(one) == "table" then name, options = next(one) end
    if options == json.null or options == true then options = {} end
    if not known[name] or type(one) == "table" and next(one, name) ~= nil then
      say(at, ("must be one of %s, or one with options, as in {web_search: {max_uses: 3}}"):format(table.concat(server_tools.names, ", ")))
    elseif seen[name] then
      say(at, ("names '%s' a second time"):format(name))
    else
      local where, why = wrong_options(name, options)
      if where then say(("%s/%s%s"):format(at, name, where), why) else list[#list + 1] = { name = name, options = options } end
      seen[name] = true
    end
  end
  return list
end

-- ---- How protocols have them ---------------------------------------------------------------------

-- A tool of Anthropic's: its type says from when it is.
local function dated(kind, name)
  return function(o)
    return { type = kind, name = name, max_uses = o.max_uses, allowed_domains = o.allowed_domains, blocked_domains = o.blocked_domains }
  end
end

-- Each with the options that it knows.
local forms = {
  anthropic = {
    web_search = { dated("web_search_20250305", "web_search"), max_uses = true, allowed_domains = true, blocked_domains = true },
    web_fetch = { dated("web_fetch_20250910", "web_fetch"), max_uses = true, allowed_domains = true, blocked_domains = true },
    code_execution = { dated("code_execution_20250825", "code_execution") },
  },
  openai_responses = {
    web_search = { function(o)
      return { type = "web_search", filters = o.allowed_domains and { allowed_domains = o.allowed_domains }, search_context_size = o.size }
    end, allowed_domains = true, size = true },
    code_execution = { function() return { type = "code_interpreter", container = { type = "auto" } } end },
    file_search = { function(o) return { type = "file_search", vector_store_ids = o.stores, max_num_results = o.max_results } end, stores = true, max_results = true },
    image_generation = { function() return { type = "image_generation" } end },
  },
  gemini = {
    web_search = { function() return { googleSearch = json.decode "{}" } end },
    web_fetch = { function() return { urlContext = json.decode "{}" } end },
    code_execution = { function() return { codeExecution = json.decode "{}" } end },
    file_search = { function(o) return { fileSearch = { fileSearchStoreNames = o.stores } } end, stores = true },
  },
}

local function unsupported(one, name, option)
  return nil, failed { code = "unsupported", message = option and ("%s: its %s knows no '%s': leave it out, or take another provider"):format(one.id, name, option)
    or ("%s offers no server tool '%s': anthropic, openai and gemini have such"):format(one.id, name) }
end

-- One as the protocol has it.
local function form_of(one, tool)
  local form = (forms[one.protocol] or {})[tool.name]
  if not form then return unsupported(one, tool.name) end
  for option in pairs(tool.options) do
    if not form[option] then return unsupported(one, tool.name, option) end
  end
  return form[1](tool.options)
end

-- Gemini needs a member of its own when a request has both kinds of tools.
local function extra_of(one, spec)
  if one.protocol ~= "gemini" or not spec.tools then return spec.extra end
  local extra = spec.extra and json.decode(spec.extra) or {}
  extra.toolConfig = extra.toolConfig or {}
  extra.toolConfig.includeServerSideToolInvocations = true
  return json.encode(extra)
end

--- A request with its server tools as a model's provider has them.
---@param one hocket.Model
---@param request hocket.Request
---@return hocket.Request?
---@return hocket.Error?
function server_tools.fit(one, request)
  request.fitted = request.fitted or {}
  local made = request.fitted[one.protocol]
  if made then return made end
  local list, spec = json.array {}, {}
  for i, tool in ipairs(request.spec.server_tools) do
    local form, err = form_of(one, tool)
    if not form then return nil, err end
    list[i] = form
  end
  for name, value in pairs(request.spec) do spec[name] = value end
  spec.server_tools, spec.extra = json.encode(list), extra_of(one, spec)
  request.fitted[one.protocol] = askers.prepare(spec, request.on_delta or nil)
  return request.fitted[one.protocol]
end

return server_tools

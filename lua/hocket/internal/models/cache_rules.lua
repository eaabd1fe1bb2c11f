--- What is known of the providers' prompt caches: whether a request reads what another one with the same beginning has left there. Read on
--- 2026-11-30; docs/guides/models.md names the sources.
---
---     least    tokens that a beginning has to have
---     seconds  for which it stays, since it was last used
---     mark     the system prompt needs a mark of its own: else only the whole of a former request is found again
---
--- A provider that is not here has no cache, or one by which siblings save nothing: DeepSeek finds the end of a former request alone,
--- xAI and Mistral want a key in each request.
local providers = require "hocket.providers"

local cache_rules = {}

-- The first that fits; "^opus%-5" is "claude-opus-5" and "claude-opus-5-5".
local claudes = {
  { "^claude%-opus%-5", 512 }, { "^claude%-fable%-5", 512 },
  { "^claude%-opus%-4%-8", 1024 }, { "^claude%-opus%-4%-7", 2048 }, { "^claude%-opus%-4%-[56]", 4096 }, { "^claude%-opus%-4", 1024 },
  { "^claude%-sonnet", 1024 }, { "^claude%-3%-[57]%-sonnet", 1024 },
  { "^claude%-haiku%-4", 4096 }, { "^claude%-3%-5%-haiku", 2048 }, { "^claude%-3%-haiku", 2048 },
}
local UNKNOWN = 4096

local function of_claude(name)
  for _, row in ipairs(claudes) do
    if name:find(row[1]) then return { least = row[2], seconds = 300 } end
  end
  return { least = UNKNOWN, seconds = 300 }
end

-- "gpt-5.6" and later read a beginning only up to a mark.
local function is_marked(name)
  local major, minor = name:match "^gpt%-(%d+)%.?(%d*)"
  major, minor = tonumber(major), tonumber(minor) or 0
  return major ~= nil and (major > 5 or major == 5 and minor >= 6)
end

local function of_openai(name, one)
  if not is_marked(name) then return { least = 1024, seconds = 300 } end
  return one.protocol == "openai_responses" and { least = 1024, seconds = 1800, mark = true } or nil
end

local function of_gemini(name)
  local version = tonumber(name:match "^gemini%-(%d+%.?%d*)")
  if version and version < 2.5 then return nil end
  return { least = version and version < 3 and 2048 or 4096, seconds = 180 }
end

local rules = {
  anthropic = of_claude, ["vertex-claude"] = of_claude, openai = of_openai, ["openai-chat"] = of_openai, ["openai-responses"] = of_openai,
  azure = of_openai, ["azure-chat"] = of_openai, gemini = of_gemini, vertex = of_gemini,
  bedrock = function(name) return name:find "^claude%-" and of_claude(name) or nil end,
}

-- Whoever is at a base URL of somebody else's may have other rules.
local function is_own(name)
  local base = providers.base_of(name)
  return base ~= nil and providers.is_hosted(base)
end

--- The rule for a model; nil: its siblings save nothing by waiting.
---@param one hocket.Model
---@return {least: integer, seconds: number, mark?: boolean}?
function cache_rules.of(one)
  local like = one.provider_name:match "^sim%-(.+)$"
  local rule = rules[like or one.provider_name]
  if not rule or not like and not is_own(one.provider_name) then return nil end
  return rule(providers.plain_model(one.name), one)
end

return cache_rules

--- Agents of netdata's ai-agent: `*.ai`.
local json = require "hocket.json"

-- "specialists/search.ai" is the agent of that file.
local function named(path)
  if type(path) ~= "string" then return tostring(path) end
  return path:find "[^/]%.ai$" and path:sub(1, -4):match "^.*/([^/]*)$" or path:match "^([^/]*[^/])%.ai$" or path
end

local function named_list(t, value)
  local list = json.array {}
  for i, path in ipairs(t:list(value)) do list[i] = named(path) end
  return list
end

-- {format: json, schema: {…}}, or the schema itself.
local function read_schema(t, key, value)
  if type(value) ~= "table" or json.is_array(value) then return t:refuse "must be a format with a schema, or a JSON Schema" end
  if value.schemaRef ~= nil then return t:refuse "names a schema in another file: write it here, under 'schema'" end
  local schema = value.schema or value.type and value or nil
  if schema then t:set(key, schema) elseif value.format == "json" then t:refuse "is JSON without a schema" else t:note "is text" end
end

-- `${include:style.md}` is `{{include style.md}}`.
local function prompt(text)
  return (text:gsub("%${include:([^{}\n]+)}", "{{include %1}}"))
end

return {
  prompt = prompt,
  title = "netdata's ai-agent", files = { "*.ai" }, no_tools = "none",
  keys = {
    { "description", doc = "`description`", read = function(t, v) t:text("description", v) end },
    { "toolName", doc = "`name`", read = function(t, v) t:name(v) end },
    { "usage", doc = "how it is asked: callers read the description" },
    { "models", doc = "the model, by the table of models; the others are fallbacks", read = function(t, v) t:models(v) end },
    { "model", doc = "as `models`", read = function(t, v) t:models(v) end },
    { "tools", doc = "servers of .mcp.json by name; without it, none", read = function(t, v)
      for _, name in ipairs(t:list(v)) do t.servers[name] = { ["*"] = true } end
    end },
    { "agents", doc = "`agents`: files by their names", read = function(t, v) t.calls = named_list(t, v) end },
    { "advisors", doc = "`advisors`: files by their names", read = function(t, v) t:set("advisors", named_list(t, v)) end },
    { "handoff", doc = "`handoff`: a file by its name", read = function(t, v) t:set("handoff", named(v)) end },
    { "router", doc = "`router` with its destinations as `agents`", read = function(t, v)
      if type(v) ~= "table" or v.destinations == nil then return t:refuse "must have 'destinations'" end
      t:set("router", true)
      t.calls = named_list(t, v.destinations)
    end },
    { "maxTurns", doc = "`max_turns`", read = function(t, v) t:limit("max_turns", v) end },
    { "maxToolTurns", doc = "`max_turns`", read = function(t, v) t:limit("max_turns", v) end },
    { "maxToolCallsPerTurn", doc = "`parallel`: as many calls of one turn at once", read = function(t, v) t:limit("parallel", v) end },
    { "maxConcurrentTools", doc = "`parallel`", read = function(t, v) t:limit("parallel", v) end },
    { "maxRetries", doc = "`retries`", read = function(t, v)
      if math.type(v) == "integer" and v >= 0 then t:set("retries", v) else t:warn "must be a whole number: the default is used" end
    end },
    { "maxOutputTokens", doc = "`max_tokens`", read = function(t, v) t:limit("max_tokens", v) end },
    { "temperature", doc = "`temperature`", read = function(t, v) t:number("temperature", v, 0, 2) end },
    { "topP", doc = "`top_p`", read = function(t, v) t:number("top_p", v, 0, 1) end },
    { "topK", doc = "`top_k`", read = function(t, v) t:number("top_k", v, 1, 1000000) end },
    { "input", doc = "`input`: its schema", read = function(t, v) read_schema(t, "input", v) end },
    { "output", doc = "`output`: its schema", read = function(t, v) read_schema(t, "output", v) end },
    { "llmTimeout", doc = "time limits of single requests are the provider's here" },
    { "toolTimeout", doc = "time limits of single calls are the tool's here" },
    { "toolResponseMaxBytes", doc = "long results are shown in part and kept in any case" },
    { "reasoning", doc = "write `reasoning:` in an agent of hocket" },
    { "cache", doc = "answers are kept with the run here" },
    { "caching", doc = "the provider's default holds" },
    { "repeatPenalty", doc = "the model's own value is used" },
    { "parallelToolCalls", doc = "calls of one turn run side by side", passed = true },
  },
}

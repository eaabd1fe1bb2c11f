--- The scripted model for tests: a weather tool, a conversation of two turns, one call at a time.
local core = require "hocket.internal.core.llm"
local json = require "hocket.json"
local llm = require "hocket.llm"
local sim = require "hocket.sim"

local support = {}

support.protocols = { "openai_chat", "openai_responses", "anthropic", "gemini", "ollama", "bedrock" }

support.tools = json.encode {
  { name = "weather", description = "The weather.", parameters = {
    type = "object", properties = { city = { type = "string" } }, required = json.array { "city" } } },
}

--- Asks for the weather in two cities at once, and says it when it is there.
function support.weather(request)
  if request.last.role == "tool" then
    local texts = {}
    for _, message in ipairs(request.messages) do
      if message.role == "tool" then texts[#texts + 1] = message.name .. " " .. message.text end
    end
    return { text = table.concat(texts, ", "), reasoning = "Now I know." }
  end
  return { text = "Let me see.", reasoning = "I need both cities.", calls = {
    { name = "weather", arguments = { city = "Porto" } }, { name = "weather", arguments = { city = "Évora" } },
  } }
end

--- Serves until the end of the scope: `local served <close> = support.serve(…)`.
function support.serve(reply, options)
  local script = type(reply) == "table" and reply or { reply = reply or support.weather }
  local served = assert(sim.serve(script, options))
  return setmetatable(served, { __close = served.close })
end

--- A model over the protocol: {name, handle}.
function support.model(served, protocol, name, traits)
  local options = { name = "test", protocol = protocol, base = served.base, pool = protocol .. served.port }
  for trait, value in pairs(traits or {}) do options[trait] = value end
  return { name = name or "default", handle = core.provider(options) }
end

--- One model call with the weather tool.
---@async
function support.ask(model, history, changes, on_delta)
  local request = { tools = support.tools, system = "Be brief.", first_timeout = 5, idle_timeout = 5 }
  for field, value in pairs(changes or {}) do request[field] = value end
  request.retries = request.retries or 0 -- a fault is to be seen as it is
  return llm.call(model, history, request, on_delta)
end

--- A conversation that begins with a question.
function support.history(question)
  local history = llm.history()
  history:user(question or "How is the weather?")
  return history
end

--- Gives every call of a reply its result.
function support.answer(history, reply)
  for _, call in ipairs(reply.calls) do
    history:result(call, (json.decode(call.arguments) or {}).city == "Porto" and "rain" or "sun")
  end
end

return support

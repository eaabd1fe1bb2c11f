--- A weather conversation with a mock server that others wrote (aimock.sh starts it).
local t = require "harness"
local json = require "hocket.json"
local support = require "sim_support"
local system = require "hocket.internal.core.system"

local root = "http://127.0.0.1:" .. assert(system.getenv "AIMOCK_PORT")
local bases = { openai_chat = "/v1", openai_responses = "/v1", anthropic = "", gemini = "/v1beta", ollama = "" }
local models = { openai_chat = "gpt-5", openai_responses = "gpt-5", anthropic = "claude-sonnet-4-5", gemini = "gemini-2.5-pro",
  ollama = "llama3" }

for _, protocol in ipairs(support.protocols) do
  for _, stream in ipairs { true, false } do
    t.test(protocol .. (stream and "" or " (whole)"), function()
      local m = support.model({ base = root .. bases[protocol], port = 0 }, protocol, models[protocol])
      local history = support.history "How is the weather?"
      local reply = assert(support.ask(m, history, { stream = stream, reasoning = "low" }))
      t.equal(reply.text, "Let me see.")
      t.equal(reply.finish, "tool_calls")
      t.same(json.decode(reply.calls[1].arguments), { city = "Porto" })
      t.same(json.decode(reply.calls[2].arguments), { city = "Évora" })
      t.ok(protocol == "ollama" or reply.reasoning == "I need both cities.")
      support.answer(history, reply)
      reply = assert(support.ask(m, history, { stream = stream, reasoning = "low" }))
      t.equal(reply.text, "Rain in Porto, sun in Évora.")
      t.equal(reply.finish, "stop")
    end)
  end
end

return t.finish()

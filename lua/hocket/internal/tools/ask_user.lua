--- `ask_user`: lets a model ask the person a question in the middle of its work, where it could only
--- guess otherwise.
local ask = require "hocket.internal.base.lazy" "hocket.ask"
local tool = require "hocket.tool"

local parameters = {
  type = "object", required = { "question" }, additionalProperties = false,
  properties = { question = { type = "string", minLength = 1, maxLength = 4000, description = "One question, in the user's language" } },
}

tool.set("ask_user", function(env)
  return tool {
    steps = true, name = "ask_user",
    description = "Ask the user a question and wait for the answer. Only for what you cannot find out and what changes the outcome.",
    parameters = parameters,
    run = function(args)
      local answer, err = ask.ask(args.question, { agent = env.agent.name })
      if answer then return answer end
      if err.code ~= "unsupported" then return nil, err end
      return nil, { code = "unsupported", message = "nobody answers. Go on with the likeliest, and say what you have assumed." }
    end,
  }
end)

return parameters

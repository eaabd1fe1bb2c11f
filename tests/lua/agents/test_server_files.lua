-- Files of MCP servers as other programs write them: each entry that can be understood works, an odd one is left out by itself.
local t = require "harness"
local agent = require "hocket.agent"
local servers = require "hocket.internal.agents.mcp_servers"
require "hocket.internal.runner.builtins"

local dir <close> = t.dir()

local function read(text, path)
  local by_name, err, odd = servers.read_text(text, path or ".mcp.json")
  return by_name, odd, err
end

t.test("a file with more servers than anybody has is refused", function()
  local entries = {}
  for i = 1, 501 do entries[i] = ('"s%d": {"command": "x"}'):format(i) end
  t.has(select(3, read("{" .. table.concat(entries, ",") .. "}")).message, "more than 500 servers")
  t.ok(read("{" .. table.concat(entries, ",", 1, 500) .. "}").s500)
end)

t.test("forms of entries", function()
  local by_name, odd = read [[{"mcpServers": {
    "stdio": {"command": "npx", "args": ["-y", "server", 8080], "env": {"A": "1"}, "type": "stdio", "icon": "x"},
    "array": {"command": ["npx", "-y"], "args": ["server"], "environment": {"A": "1"}, "type": "local"},
    "gemini": {"httpUrl": "https://a.example/mcp", "trust": true},
    "windsurf": {"serverUrl": "https://b.example/mcp"},
    "cline": {"type": "streamableHttp", "url": "https://c.example/mcp", "autoApprove": ["x"]},
    "sse": {"type": "sse", "url": "https://d.example/sse", "headers": {"X": "y"}},
    "both": {"type": "http", "command": "x", "args": ["y"], "url": "https://e.example/mcp"},
    "Microsoft Docs (v2)": {"url": "https://f.example/mcp"},
    "odd": {"command": 7}, "list": ["x"], "text": "x", "empty": {}, "ws": {"type": "ws", "url": "ws://g.example"},
    "null": null, "env": {"command": "x", "env": {"A": {"b": 1}}}, "42": {"command": "x"}
  }}]]
  t.same(by_name.stdio.args, { "-y", "server", "8080" })
  t.equal(by_name.array.command, "npx")
  t.same(by_name.array.args, { "-y", "server" })
  t.same(by_name.array.env, { A = "1" })
  for _, name in ipairs { "gemini", "windsurf", "cline", "sse", "both", "Microsoft_Docs_v2" } do t.has(by_name[name].url, "https://", name) end
  t.equal(by_name.both.command, nil)
  local left = {}
  for name in pairs(odd) do left[#left + 1] = name end
  table.sort(left)
  t.equal(table.concat(left, " "), "42 empty env list null odd text ws")
end)

t.test("comments, commas before brackets, and a byte order mark", function()
  local by_name = read "\239\187\191{\n// one\n\"servers\": { /* two */\n\"a\": {\"command\": \"x//y\", \"args\": [\"/*\", \",]\",],},\n},\n}"
  t.equal(by_name.a.command, "x//y")
  t.same(by_name.a.args, { "/*", ",]" })
  for _, text in ipairs { "{", "// x", '{"a": "', "[1,]", "/*", '"\\' } do t.equal((read(text)), nil, text) end
end)

t.test("variables of editors", function()
  local path = dir:write("p/.vscode/mcp.json", [[{"inputs": [{"id": "github-token", "type": "promptString"}],
    "servers": {"a": {"command": "${workspaceFolder}/run", "args": ["${workspaceFolderBasename}", "${env:HOME}", "${input:github-token}", "${{ secrets.KEY }}"]}}}]])
  local one = assert(servers.read_file(path)).a
  t.equal(one.command, dir.path .. "/p/run")
  t.same(one.args, { "p", "${env:HOME}", "${GITHUB_TOKEN}", "${KEY}" })
end)

t.test("an agent's server is found in any of them, and an odd neighbour is no reason to fail", function()
  dir:write("q/agents/a.md", "---\nname: a\nmcp: [docs, my.server]\n---\nYou.\n")
  dir:write("q/.mcp.json", '{"mcpServers": {"other": {"command": "x"}}}')
  dir:write("q/.vscode/mcp.json", '{"servers": {"docs": {"command": "x"}, "bad": {"command": 1}}}')
  dir:write("q/.cursor/mcp.json", '{"mcpServers": {"my.server": {"command": "y"}}}')
  local def = agent.parse("---\nname: a\nmcp: [docs, my.server, lost]\n---\nYou.\n", dir.path .. "/q/agents/a.md")
  local found, _, left_out = servers.find(def.mcp[1])
  t.equal(found.command, "x")
  t.has(left_out[1], "the server 'bad' is left out: bad.command must be a text")
  t.equal(servers.find(def.mcp[2]).name, "my_server")
  t.fails("agent", ".mcp.json has no server 'lost'", servers.find(def.mcp[3]))
  dir:write("q/.vscode/mcp.json", "{")
  t.equal(servers.find(def.mcp[2]).command, "y") -- theirs, broken, does not stand in the way
end)

t.test("hostile files end soon", function()
  for _, text in ipairs { ("[,"):rep(200000), ("/*"):rep(200000), ("\"\\"):rep(200000), (", "):rep(200000), "{" .. ("//\n"):rep(200000), ("{\"a\":"):rep(100000) } do
    local began = os.clock()
    t.equal((read(text)), nil)
    t.ok(os.clock() - began < 3)
  end
end)

return t.finish()

--- What a caller chooses for one call of a sub-agent, forks, and asking again, at every door: the same as in a run.
local t = require "harness"
local acp_client = require "acp_client"
local doors = require "doors"
local fs = require "hocket.fs"
local hocket = require "hocket"
local json = require "hocket.json"
local serving = require "serving"

hocket.broker() -- its dispatcher lives as long as the host

local here = fs.real(debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$" .. "/../support/children")
local sim = assert(hocket.sim.serve { reply = dofile(here .. "/sim.lua") }) -- a program has one sim.lua: that of its first target
hocket.provider("sim", { protocol = "openai_chat", base = sim.base })

local meta = { ["io.modelcontextprotocol/protocolVersion"] = "2026-07-28", ["io.modelcontextprotocol/clientInfo"] = { name = "x", version = "1" }, ["io.modelcontextprotocol/clientCapabilities"] = json.decode "{}" }

local function mcp(s, of, text)
  local _, got = s:post("/mcp", { jsonrpc = "2.0", id = 1, method = "tools/call", params = { name = of, arguments = { input = text }, _meta = meta } }, {
    accept = "application/json, text/event-stream", ["mcp-protocol-version"] = "2026-07-28", ["mcp-method"] = "tools/call", ["mcp-name"] = of })
  return got.result.content[1].text
end

local function acp(_, of, text)
  local c <close> = acp_client.open { target = here .. "/agents/" .. of .. ".md", options = { trust = true } }
  c:session(here)
  c:prompt(text)
  return c:text()
end

local function run(_, of, text)
  local got, err = hocket.start(here .. "/agents/" .. of .. ".md", text, { trust = true }):wait()
  return got and got.text or err.message
end

-- What the lead is told, by the word that it gets.
local heard = {
  choose = '{"seen": "large at high"}',
  limits = "looked 2 times",
  model = "/model: ",
  effort = "/reasoning: ",
  schema = "the output is no JSON Schema",
  more = "/limits/turns: ",
  fork = "forked from You lead. with fork",
  again = "heard Check it, heard Check it, And now?",
}

local function try(name, ask, s)
  for word, expected in pairs(heard) do
    local got = ask(s, "lead", word)
    t.has(got, "The checker: ", name .. " " .. word)
    t.has(got, expected, name .. " " .. word)
  end
end

t.test("a run", function() try("run", run) end)

t.test("an editor", function() try("acp", acp) end)

local function with_server(name, ask)
  t.test(name, function()
    local server <close> = serving.open(here .. "/agents", { trust = true })
    try(name, ask, server)
  end)
end

with_server("mcp", mcp)
for name, ask in pairs(doors) do with_server(name, ask) end

return t.finish()

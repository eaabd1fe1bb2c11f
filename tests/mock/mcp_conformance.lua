-- The client that the public conformance runner of MCP drives: it is started with a server's address for each scenario.
local client = require "hocket.internal.mcp.client"
local http = require "hocket.http"
local json = require "hocket.json"
local oauth = require "hocket.internal.mcp.oauth"

local url = ...
local scenario = os.getenv "MCP_CONFORMANCE_SCENARIO" or ""
local version = os.getenv "MCP_CONFORMANCE_PROTOCOL_VERSION" or ""
local context = json.decode(os.getenv "MCP_CONFORMANCE_CONTEXT" or "{}") or {}

local function connect(more)
  local spec = { name = "server", url = url, era = version >= "2026" and "modern" or "legacy" }
  for name, value in pairs(more or {}) do spec[name] = value end
  return assert(client.connect(spec))
end

local function call_all(c, calls)
  for _, one in ipairs(calls) do assert(c:call(one.name, one.arguments or {})) end
end

-- Accepts, with what the form has as defaults.
local function accept(params)
  local content = {}
  for name, field in pairs(params.requestedSchema and params.requestedSchema.properties or {}) do content[name] = field.default end
  return { action = "accept", content = content }
end

local scenarios = {
  tools_call = function()
    local c = connect()
    assert(c:tools())
    print(json.encode(assert(c:call("add_numbers", { a = 2, b = 3 }))))
    return c
  end,
  ["sse-retry"] = function()
    local c = connect()
    assert(c:tools())
    assert(c:call "test_reconnection")
    return c
  end,
  ["elicitation-sep1034-client-defaults"] = function()
    local c = connect { elicit = accept }
    for _, one in ipairs(assert(c:tools())) do assert(c:call(one.name)) end
    return c
  end,
  ["http-standard-headers"] = function()
    local c = connect()
    for _, one in ipairs(assert(c:tools())) do c:call(one.name, {}) end
    c:resources()
    c:prompts()
    for _, one in ipairs(c:resources() or {}) do c:read(one.uri) end
    for _, one in ipairs(c:prompts() or {}) do c:prompt(one.name) end
    return c
  end,
  ["http-custom-headers"] = function()
    local c = connect()
    assert(c:tools())
    call_all(c, context.toolCalls or {})
    return c
  end,
  ["http-invalid-tool-headers"] = function()
    local c = connect()
    for _, one in ipairs(assert(c:tools())) do c:call(one.name, {}) end
    return c
  end,
  ["sep-2322-client-request-state"] = function()
    local c = connect { elicit = accept }
    assert(c:tools())
    for _, name in ipairs { "test_mrtr_echo_state", "test_mrtr_unrelated", "test_mrtr_no_state", "test_mrtr_no_result_type" } do c:call(name, {}) end
    return c
  end,
  ["json-schema-2020-12-preservation"] = function()
    local c = connect()
    local tools = assert(c:tools())
    for _, one in ipairs(tools) do
      if one.name ~= "json_schema_echo" then assert(c:call("json_schema_echo", { schema = one.inputSchema })) end
    end
    return c
  end,
}

-- A login without a person: whom the browser is sent to is where the answer stands.
local function browse(address)
  local answer = assert(http.request { url = address, timeout = 10 })
  return answer.headers.location, { code = "auth", message = "no redirect: " .. answer.body }
end

local function log_in()
  local client_of = context.client_id and { id = context.client_id, secret = context.client_secret } or nil
  local c = connect { login = oauth.new { url = url, browse = browse, redirect = "http://localhost:3333/callback", client = client_of,
    document = "https://conformance-test.local/client-metadata.json" } }
  for _, one in ipairs(assert(c:tools())) do assert(c:call(one.name, {})) end
  return c
end

local run = scenarios[scenario] or scenario:find "^auth/" and log_in or function()
  local c = connect()
  assert(c:tools())
  return c
end
local c = run()
c:close()
return "done"

--- Bedrock, Vertex and Azure: where they are, how requests are signed, what their bodies leave out.
local json = require "hocket.json"
local llm = require "hocket.llm"
local model = require "model"
local hocket = require "hocket"
local providers = require "hocket.providers"
local resolve = require("hocket.model").resolve
local system = require "hocket.internal.core.system"
local t = require "harness"

local getenv = system.getenv

-- With these variables and no others.
local function with(variables, fn)
  local restore <close> = setmetatable({}, { __close = function() system.getenv = getenv end })
  system.getenv = function(name) return variables[name] end
  return fn()
end

local function ask(id, request)
  local history = llm.history()
  history:user "Well?"
  return llm.call(assert(resolve(id)), history, request or { retries = 0 })
end

t.test("addresses are made of variables", function()
  local function base(name, variables) return with(variables, function() return providers.base_of(name) end) end
  t.equal(base("bedrock", { AWS_DEFAULT_REGION = "eu-west-1" }), "https://bedrock-runtime.eu-west-1.amazonaws.com")
  t.equal(base("bedrock", { AWS_DEFAULT_REGION = "eu-west-1", AWS_REGION = "us-east-1" }), "https://bedrock-runtime.us-east-1.amazonaws.com")
  t.equal(base("azure", { AZURE_OPENAI_ENDPOINT = "https://mine.openai.azure.com/" }), "https://mine.openai.azure.com/openai/v1")
  local project = { GOOGLE_CLOUD_PROJECT = "p" }
  t.equal(base("vertex", project), "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google")
  project.GOOGLE_CLOUD_LOCATION = "eu"
  t.equal(base("vertex-claude", project), "https://aiplatform.eu.rep.googleapis.com/v1/projects/p/locations/eu/publishers/anthropic")
  project.GOOGLE_CLOUD_LOCATION = "europe-west4"
  t.equal(base("vertex", project), "https://europe-west4-aiplatform.googleapis.com/v1/projects/p/locations/europe-west4/publishers/google")
  for id, variable in pairs { ["bedrock/m"] = "AWS_REGION", ["vertex/m"] = "GOOGLE_CLOUD_PROJECT", ["azure/m"] = "AZURE_OPENAI_ENDPOINT" } do
    local _, err = with({}, function() return resolve(id) end)
    t.equal(err.code, "invalid")
    t.has(err.message, "needs the variable " .. variable)
  end
end)

-- ---- Bedrock --------------------------------------------------------------------------------------

local function bytes_of(hex)
  return (hex:gsub("%x%x", function(two) return string.char(tonumber(two, 16)) end))
end

local function hmac(key, text)
  key = key .. ("\0"):rep(64 - #key)
  local function xor(by) return (key:gsub(".", function(c) return string.char(c:byte() ~ by) end)) end
  return bytes_of(system.digest(xor(0x5c) .. bytes_of(system.digest(xor(0x36) .. text))))
end

-- The signature that a server works out of what it got, as AWS describes it.
local function signature_of(request, secret)
  local h = request.headers
  local date, scope, signed = h["x-amz-date"], h.authorization:match "Credential=[^/]+/([^,]+), SignedHeaders=([^,]+)"
  local lines = {}
  for name in signed:gmatch "[^;]+" do lines[#lines + 1] = name .. ":" .. h[name] .. "\n" end
  local path = request.path:gsub("[^%w%-_.~/]", function(c) return ("%%%02X"):format(c:byte()) end)
  local canonical = table.concat({ "POST", path, "", table.concat(lines), signed, system.digest(request.body) }, "\n")
  local key = "AWS4" .. secret
  for part in scope:gmatch "[^/]+" do key = hmac(key, part) end
  return (hmac(key, table.concat({ "AWS4-HMAC-SHA256", date, scope, system.digest(canonical) }, "\n")):gsub(".", function(c) return ("%02x"):format(c:byte()) end))
end

local answer = json.encode { output = { message = { role = "assistant", content = { { text = "Yes." } } } }, stopReason = "end_turn",
  usage = { inputTokens = 10, outputTokens = 2, totalTokens = 15, cacheReadInputTokens = 3, cacheWriteInputTokens = 0 } }

local function bedrock(fields)
  local seen = {}
  fields.protocol = "bedrock"
  local m = model.raw(function(listener, request)
    seen[#seen + 1] = request
    listener:respond(request.id, 200, { ["content-type"] = "application/json" }, answer)
  end, fields)
  return m, seen, m.id:match "^[^/]+"
end

t.test("requests to Bedrock are signed as the server works it out", function()
  local m <close>, seen, name = bedrock { region = "eu-central-1" }
  for _, token in ipairs { false, "a/session+token=" } do
    local variables = { AWS_ACCESS_KEY_ID = "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY = "secret/key+1", AWS_SESSION_TOKEN = token or nil }
    local reply = assert(with(variables, function() return ask(name .. "/anthropic.claude-opus-5-v1:0") end))
    t.equal(reply.text, "Yes.")
    t.equal(reply.usage.input, 13)
    local request = seen[#seen]
    t.equal(request.path, "/v1/model/anthropic.claude-opus-5-v1%3A0/converse-stream")
    t.has(request.headers.authorization, "/eu-central-1/bedrock/aws4_request")
    t.equal(request.headers.authorization:match "Signature=(%x+)", signature_of(request, "secret/key+1"))
    t.equal(request.headers["x-amz-security-token"], token or nil)
  end
end)

t.test("a token for Bedrock goes before access keys; without either a program is asked", function()
  local m <close>, seen, name = bedrock { region = "us-east-1", key_env = "AWS_BEARER_TOKEN_BEDROCK", key_header = "authorization: Bearer",
    key_command = { "/bin/sh", "-c", [[echo '{"Version":1,"AccessKeyId":"AKIDPROGRAM","SecretAccessKey":"program-secret","SessionToken":"program-token","Expiration":"2099-01-01T00:00:00Z"}']] } }
  assert(with({ AWS_BEARER_TOKEN_BEDROCK = "bearer-token", AWS_ACCESS_KEY_ID = "A", AWS_SECRET_ACCESS_KEY = "B" }, function() return ask(name .. "/m") end))
  t.equal(seen[1].headers.authorization, "Bearer bearer-token")
  assert(with({ PATH = getenv "PATH" }, function() return ask(name .. "/m") end))
  t.has(seen[2].headers.authorization, "Credential=AKIDPROGRAM/")
  t.equal(seen[2].headers["x-amz-security-token"], "program-token")
  t.equal(seen[2].headers.authorization:match "Signature=(%x+)", signature_of(seen[2], "program-secret"))
end)

t.test("what AWS says of a refused request shows no secret", function()
  local m <close> = model.raw(function(listener, request)
    listener:respond(request.id, 403, { ["content-type"] = "application/json" }, json.encode { message = "The Canonical String should have been "
      .. request.headers["x-amz-security-token"] .. " secret/key+1", __type = "com.amazon#InvalidSignatureException" })
  end, { protocol = "bedrock", region = "r" })
  local _, err = with({ AWS_ACCESS_KEY_ID = "AKIDEXAMPLE", AWS_SECRET_ACCESS_KEY = "secret/key+1", AWS_SESSION_TOKEN = "a-session-token" }, function()
    return ask(m.id)
  end)
  t.equal(err.code, "auth")
  t.has(err.message, "should have been *************** ************")
end)

-- ---- Vertex, Azure --------------------------------------------------------------------------------

t.test("Claude at Vertex: the model in the path, the version in the body", function()
  local seen
  local m <close> = model.raw(function(listener, request)
    seen = request
    listener:respond(request.id, 200, { ["content-type"] = "application/json" }, json.encode { id = "x", type = "message", role = "assistant", model = "claude",
      content = { { type = "text", text = "Yes." } }, stop_reason = "end_turn", usage = { input_tokens = 1, output_tokens = 1 } })
  end, { protocol = "anthropic", traits = { vertex = true }, key_env = "K", key_header = "Authorization: Bearer" })
  local id = m.id:match "^[^/]+" .. "/claude-sonnet-4-5@20250929"
  assert(with({ K = "the-access-token" }, function() return ask(id) end))
  t.equal(seen.path, "/v1/models/claude-sonnet-4-5@20250929:streamRawPredict")
  t.equal(seen.headers.authorization, "Bearer the-access-token")
  local body = json.decode(seen.body)
  t.equal(body.model, nil)
  t.equal(body.anthropic_version, "vertex-2023-10-16")
  assert(with({ K = "the-access-token" }, function() return ask(id, { stream = false, retries = 0 }) end))
  t.equal(seen.path, "/v1/models/claude-sonnet-4-5@20250929:rawPredict")
end)

t.test("Gemini at Vertex, and Azure, with their own headers", function()
  local seen
  local m <close> = model.raw(function(listener, request)
    seen = request
    listener:respond(request.id, 500, {}, "{}")
  end)
  local root = m.base:match "^(http://[^/]+)"
  with({ VERTEX_BASE_URL = root .. "/v1/projects/p/locations/l/publishers/google", VERTEX_ACCESS_TOKEN = "a-token" }, function() ask "vertex/gemini-3.5-flash" end)
  t.equal(seen.path, "/v1/projects/p/locations/l/publishers/google/models/gemini-3.5-flash:streamGenerateContent?alt=sse")
  t.equal(seen.headers.authorization, "Bearer a-token")
  for id, path in pairs { ["azure/mine"] = "/openai/v1/responses", ["azure-chat/mine"] = "/openai/v1/chat/completions" } do
    with({ AZURE_OPENAI_ENDPOINT = root, AZURE_OPENAI_API_KEY = "azure-key" }, function() ask(id) end)
    t.equal(seen.path, path)
    t.equal(seen.headers["api-key"], "azure-key")
    t.equal(seen.headers.authorization, nil)
  end
end)

t.test("variables in headers", function()
  local seen
  local m <close> = model.raw(function(listener, request)
    seen = request
    listener:respond(request.id, 400, {}, '{"error":{"message":"you sent very-secret-value"}}')
  end, { headers = { ["x-team-token"] = "${TEAM_TOKEN:-none}", ["x-a"] = "b" } })
  local _, err = with({ TEAM_TOKEN = "very-secret-value" }, function() return ask(m.id) end)
  t.equal(seen.headers["x-team-token"], "very-secret-value")
  t.equal(err.message:find("very-secret-value", 1, true), nil)
end)

t.test("declarations that are wrong", function()
  for _, case in ipairs {
    { { key_command = "az account" }, "a program and its arguments" }, { { key_command = {} }, "a program and its arguments" },
    { { key_lifetime = 0 }, "seconds, more than 0" }, { { traits = { vertex = "yes" } }, "boolean expected" }, { { regoin = "x" }, "did you mean 'region'?" },
  } do
    local def = { protocol = "openai_chat", base = "http://x" }
    for name, value in pairs(case[1]) do def[name] = value end
    local ok, err = pcall(function() hocket.provider("wrong", def) end)
    t.equal(ok, false)
    t.has(err, case[2])
    t.has(err, "test_clouds.lua:")
  end
end)

return t.finish()

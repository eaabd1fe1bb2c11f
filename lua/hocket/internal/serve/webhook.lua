--- Deliveries to webhooks, signed as Standard Webhooks have it, and the key for that.
---
---     webhook-id, webhook-timestamp, webhook-signature: v1,BASE64(HMAC-SHA256(key, "ID.TIMESTAMP.BODY"))
local fs = require "hocket.internal.core.fs"
local digest = require "hocket.internal.base.digest"
local http = require "hocket.http"
local json = require "hocket.json"
local state_dir = require "hocket.internal.run.state_dir"
local system = require "hocket.internal.core.system"
local failure = system.failure

local webhook = {}

--- Seconds that a delivery may take.
webhook.TIMEOUT = 20

-- As Standard Webhooks write a secret: "whsec_" and base64.
local function read_secret(text, where)
  local key = text:match "^%s*whsec_([%w+/]+=*)%s*$"
  key = key and system.unbase64(key)
  if key and #key >= 24 and #key <= 64 then return key end
  return failure("invalid", "%s: expected whsec_ and base64 of 24 to 64 bytes", where)
end

--- The key that webhooks are signed with: of HOCKET_WEBHOOK_SECRET, else of webhook-secret in the state directory, which is made when
--- it is not there.
---@return string? key Bytes.
---@return hocket.Error?
function webhook.secret()
  local given = system.getenv "HOCKET_WEBHOOK_SECRET"
  if given and given ~= "" then return read_secret(given, "HOCKET_WEBHOOK_SECRET") end
  local dir = state_dir()
  if not dir then return failure("invalid", "there is no home to keep the webhooks' secret in: set HOCKET_WEBHOOK_SECRET") end
  local path = dir .. "/webhook-secret"
  if not fs.info(path) then
    local ok, err = fs.mkdir(dir, { private = true })
    if ok then ok, err = fs.write(path, "whsec_" .. system.base64(system.token(32)) .. "\n", { private = true, exclusive = true }) end
    if not ok and err.code ~= "exists" then return nil, err end
  end
  local text, err = fs.read(path, 4096)
  if not text then return nil, err end
  if not fs.info(path).private then return failure("denied", "the secret in %s can be read by others: chmod 600 %s", path, path) end
  return read_secret(text, path)
end

local function signature(key, id, timestamp, body)
  return "v1," .. system.base64(digest.hmac(key, ("%s.%d.%s"):format(id, timestamp, body)))
end

---@async
---@param key string
---@param url string
---@param id string The same for each try.
---@param body string JSON
---@return boolean? delivered
---@return string? why
---@return boolean? gone It is to be tried no more.
function webhook.post(key, url, id, body)
  local now = math.floor(system.wall())
  local answer, err = http.request { url = url, method = "POST", body = body, timeout = webhook.TIMEOUT, max_body = 1 << 16, headers = {
    ["content-type"] = "application/json", ["webhook-id"] = id, ["webhook-timestamp"] = tostring(now), ["webhook-signature"] = signature(key, id, now, body),
  } }
  if not answer then return nil, err.message end
  if answer.status >= 200 and answer.status < 300 then return true end
  return nil, ("it answered %d"):format(answer.status), answer.status == 410
end

---@param kind string
---@param data table
---@return string json
function webhook.body(kind, data)
  return json.encode { type = kind, timestamp = os.date("!%Y-%m-%dT%H:%M:%SZ", math.floor(system.wall())), data = data }
end

return webhook

--- Keys that a program gives (`key_command`): Entra, ADC, any broker of tokens. It runs when the first call needs a key, without a shell, once for
--- all waiting calls. Its key stays in memory until it expires, and is renewed before. Its output is in no log, event or error. It has no terminal:
--- people sign in before.
---
--- It prints only the key, on one line; or JSON with `accessToken`, `access_token`, `token` or `key`, also inside of `status` or
--- `credential`. `expires_in`, `expires_on`, `expirationTimestamp` and the like are read, too. For AWS it prints AccessKeyId and
--- SecretAccessKey.
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.internal.core.fs"
local isotime = require "hocket.internal.base.isotime"
local json = require "hocket.json"
local machine_policy = require "hocket.internal.models.machine_policy"
local system = require "hocket.internal.core.system"
local script_env = require "hocket.internal.base.lazy" "hocket.internal.base.script.env"
local trim = require "hocket.internal.base.trim"
local failed = system.error

local key_command = {}

--- Seconds that the program may take; bytes that it may print; seconds that a key holds which does not say so.
key_command.TIMEOUT = 30
local MOST, LIFETIME = 65536, 300
--- It is renewed when this part of its time, or these seconds, are left; and asked again so soon after it failed.
local PART, MARGIN, PAUSE = 0.2, 120, 5

-- Beside the names of a declaration: where programs, homes and configurations are. No keys.
local given = { "PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "TZ", "XDG_CONFIG_HOME", "XDG_RUNTIME_DIR", "SSL_CERT_FILE", "SSL_CERT_DIR",
  "REQUESTS_CA_BUNDLE", "https_proxy", "http_proxy", "no_proxy", "HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "AZURE_CONFIG_DIR", "CLOUDSDK_CONFIG",
  "CLOUDSDK_ACTIVE_CONFIG_NAME", "GOOGLE_APPLICATION_CREDENTIALS", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "AWS_CONFIG_FILE",
  "AWS_SHARED_CREDENTIALS_FILE", "KUBECONFIG" }

local function environment(names)
  local list, known = {}, {}
  for _, set in ipairs { given, names or {} } do
    for _, name in ipairs(set) do
      local value = not known[name] and system.getenv(name)
      known[name] = true
      if value then list[#list + 1] = name .. "=" .. value end
    end
  end
  return list
end

-- ---- What it prints ------------------------------------------------------------------------------

-- RFC 3339 as seconds since 1970; nil for what is none.
local function time_of(text)
  local y, mo, d, h, mi, s, rest = text:match "^(%d%d%d%d)-(%d%d)-(%d%d)[Tt ](%d%d):(%d%d):(%d%d)(.*)$"
  local sign, oh, om = (rest or ""):match "([+-])(%d%d):?(%d%d)$"
  if not y or not sign and not rest:find "[Zz]$" or tonumber(mo) < 1 or tonumber(mo) > 12 then return nil end
  local days = isotime.days(tonumber(y), tonumber(mo), tonumber(d))
  local offset = sign and (oh * 3600 + om * 60) * (sign == "-" and -1 or 1) or 0
  return days * 86400 + h * 3600 + mi * 60 + s - offset
end

local function text_in(value, names)
  for _, name in ipairs(names) do
    local found = value[name]
    if type(found) == "string" and found ~= "" then return found end
  end
end

local function number_in(value, names)
  for _, name in ipairs(names) do
    local n = tonumber(value[name])
    if n and n == n and math.abs(n) < 1e12 then return n end
  end
end

-- How many seconds are left, where it says so.
local function left_of(value)
  local seconds = number_in(value, { "expires_in", "expiresIn" })
  local at = number_in(value, { "expires_on", "expires_at", "expiresAt" })
  if not seconds and not at then
    local text = text_in(value, { "Expiration", "expiration", "expirationTimestamp", "token_expiry", "expiry", "expires_at", "expireTime" })
    at = text and time_of(text)
  end
  return seconds or at and at - system.wall()
end

local function of_object(value)
  local id, secret = text_in(value, { "AccessKeyId" }), text_in(value, { "SecretAccessKey" })
  if id and secret then return { key = secret, id = id, token = text_in(value, { "SessionToken" }), left = left_of(value) } end
  local key = text_in(value, { "accessToken", "access_token", "token", "key" })
  if key then return { key = key, left = left_of(value) } end
  for _, inner in ipairs { "status", "credential" } do
    local found = type(value[inner]) == "table" and of_object(value[inner])
    if found then return found end
  end
end

-- {key, id?, token?, left?}; or nil and what is wrong, in words that repeat nothing.
local function read(text)
  text = trim.both(text)
  if text == "" then return nil, "printed nothing" end
  local value = text:find "^{" and json.decode(text)
  if type(value) == "table" then
    local found = of_object(value)
    if not found then return nil, "printed JSON without a key in it (accessToken, access_token, token, key; or AccessKeyId with SecretAccessKey)" end
    text, value = found.key, found
  end
  if text:find "[%c%s\127-\255]" then return nil, "printed something that is no key: one word, or JSON, is expected" end
  return value or { key = text }
end

-- ---- Running it ----------------------------------------------------------------------------------

local function refused(self, what)
  return nil, failed { code = "auth", message = ("%s: its key_command (%s) %s"):format(self.name, self.def.key_command[1]:match "[^/]*$", what) }
end

local function ended(result)
  if result.timed_out then return ("did not end within %d seconds: does it want somebody to sign in? Run it by hand"):format(key_command.TIMEOUT) end
  if result.signal then return "was ended by SIG" .. result.signal end
  if result.code ~= 0 then return ("ended with exit code %d: run it by hand to see why"):format(result.code) end
  if result.stdout_omitted then return ("printed more than %d bytes"):format(MOST) end
end

local function ask(self)
  local may, why_not = machine_policy.key_command(self.def.key_command[1])
  if not may then return nil, why_not end
  local result, err = script_env.run_program { argv = self.def.key_command, env = environment(self.def.key_command_env), cwd = fs.real "." or "/",
    sandbox = "limits", network = true, sockets = true, timeout = key_command.TIMEOUT, grace = 1, head = MOST, tail = 1 }
  if not result then return refused(self, "could not be started: " .. err.message) end
  local wrong = ended(result)
  local found
  if not wrong then found, wrong = read(result.stdout) end
  if not found then return refused(self, wrong) end
  local left = self.def.key_lifetime or found.left or LIFETIME
  if left <= 0 then return refused(self, "printed a key that is over already") end
  local now = fiber.now()
  self.over, self.renew = now + left, now + left - math.min(MARGIN, left * PART)
  self.key, self.version = found, self.version + 1
  return true
end

local function run(self)
  local ok, done, err = pcall(ask, self)
  self.running = nil
  if ok and done then return true end
  self.pause, self.err = fiber.now() + PAUSE, ok and err or failed { code = "auth", message = self.name .. ": its key_command could not be run" }
  if not ok and type(done) == "table" and done.code == "no_memory" then error(done, 0) end
end

---@class hocket.KeyCommand
---@field package key? {key: string, id?: string, token?: string}
---@field package version integer Of the key.
---@field package over number When it ends.
---@field package renew number When another one is asked for.
---@field package pause number Until then nobody asks again.
---@field package given table<userdata, integer> By handle, the version that it has.
local Command = {}
Command.__index = Command

-- Waits until there is a key that holds; nil and an error when there is none.
local function wait(self)
  local now = fiber.now()
  if now < self.renew then return self.key end
  if not self.running and now >= self.pause then self.running = fiber.outside(run, self) end
  if now < self.over then return self.key end -- the old one holds meanwhile
  local version = self.version
  if self.running then self.running:join(key_command.TIMEOUT + 5) end
  if self.version ~= version then return self.key end
  return nil, self.err or failed { code = "auth", message = self.name .. ": its key_command gave no key" }
end

--- Gives a handle a key that holds.
---@async
---@param handle userdata
---@return true? ready
---@return hocket.Error?
function Command:ready(handle)
  if system.getenv "HOCKET_OFFLINE" then return true end -- no call is made, which the call says
  local key, err = wait(self)
  if not key then return nil, err end
  if self.given[handle] ~= self.version then
    handle:set_key(key.key, key.id, key.token)
    self.given[handle] = self.version
  end
  return true
end

--- A key for whoever asks a server itself.
---@async
---@return string? key
---@return hocket.Error?
function Command:value()
  local key, err = wait(self)
  return key and key.key, err
end

--- The key was refused: the next call has another.
function Command:drop()
  self.over, self.renew = 0, 0
end

local made = setmetatable({}, { __mode = "k" }) -- by declaration

--- The keys of a provider.
---@param name string
---@param def hocket.Provider
---@return hocket.KeyCommand
function key_command.of(name, def)
  made[def] = made[def] or setmetatable({ name = name, def = def, version = 0, over = 0, renew = 0, pause = 0,
    given = setmetatable({}, { __mode = "k" }) }, Command)
  return made[def]
end

return key_command

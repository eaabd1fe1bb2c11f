--- What the variables of OpenTelemetry say, read once: where to, what, how much.
---
--- A number that is none is reported and does not count, as its specification wants; what would send to nobody, or in words that the
--- other side cannot read, is an error.
local url_encoding = require "hocket.internal.base.http.url_encoding"
local providers = require "hocket.providers"
local system = require "hocket.internal.core.system"
local trace = require "hocket.internal.telemetry.trace"

local settings = {}

local SIGNALS = { "traces", "metrics", "logs" }
settings.SIGNALS = SIGNALS

local DEFAULT_ENDPOINT = "http://localhost:4318"

---@class hocket.TelemetrySettings
---@field signals table<string, {url: string, headers: table<string, string>, timeout: number}> The ones that are sent.
---@field resource table<string, string>
---@field sampler {name: string, ratio: number}
---@field latest boolean Names of the newest set.
---@field content {span: boolean, log: boolean}
---@field limits table<string, integer|false>
---@field queues table<string, table>
---@field interval number Seconds between two tellings of metrics.
---@field delta boolean Metrics are reported as what has been since the last time.
---@field parent? hocket.TraceContext Of the runs that this program begins.
---@field propagate boolean
---@field to_models boolean
---@field secrets string[]
---@field warnings string[]

-- An empty variable is none.
local function reader(given, warnings)
  local self = {}
  function self.text(...)
    for _, name in ipairs { ... } do
      local value = given and given[name]
      if value == nil then value = system.getenv(name) end
      if type(value) == "string" and value:find "%S" then return value:match "^%s*(.-)%s*$", name end
    end
  end
  function self.number(default, least, ...)
    local text, name = self.text(...)
    if not text then return default end
    local number = math.tointeger(tonumber(text))
    if number and number >= least then return number end
    warnings[#warnings + 1] = ("%s=%s is no whole number from %d on: %s is taken"):format(name, text, least, tostring(default or "no limit"))
    return default
  end
  function self.is_true(name)
    local text = self.text(name)
    return text ~= nil and text:lower() == "true"
  end
  return self
end

-- "a=b,c=d%20e", as headers and attributes are written. Returns nil and the part that is none.
local function pairs_of(text)
  local list = {}
  for part in (text or ""):gmatch "[^,]+" do
    local name, value = part:match "^%s*([^=%s]+)%s*=%s*(.-)%s*$"
    if not name then return nil, part end
    list[url_encoding.unescape(name)] = url_encoding.unescape(value)
  end
  return list
end

-- ---- Where to --------------------------------------------------------------------------------------

local function url_of(env, signal)
  local own, name = env.text(("OTEL_EXPORTER_OTLP_%s_ENDPOINT"):format(signal:upper()))
  local base
  if not own then base, name = env.text "OTEL_EXPORTER_OTLP_ENDPOINT" end
  local url = own or (base or DEFAULT_ENDPOINT):gsub("/+$", "") .. "/v1/" .. signal
  if not url:find "^https?://[^/?#%s]+" or url:find "%s" then
    return system.failure("invalid", "%s is no URL: http://HOST:4318 expected, got '%s'", name, own or base)
  end
  return url
end

-- nil: this one is not sent.
local function wanted(env, signal, is_on, warnings)
  local text, name = env.text(("OTEL_%s_EXPORTER"):format(signal:upper()))
  if not text then return is_on end
  local found = false
  for one in text:gmatch "[^,%s]+" do
    if one == "otlp" then found = true elseif one ~= "none" then warnings[#warnings + 1] = ("%s=%s: there are otlp and none"):format(name, one) end
  end
  return found
end

local function check_protocol(env, signal)
  local text, name = env.text(("OTEL_EXPORTER_OTLP_%s_PROTOCOL"):format(signal:upper()), "OTEL_EXPORTER_OTLP_PROTOCOL")
  if not text or text == "http/json" then return true end
  return system.failure("invalid", "%s=%s is not spoken here: set it to http/json, which collectors take at their port for HTTP (4318); nothing is sent", name, text)
end

local not_spoken = { "CLIENT_KEY", "CLIENT_CERTIFICATE" }

local function check_tls(env, signal)
  for _, word in ipairs(not_spoken) do
    local _, name = env.text(("OTEL_EXPORTER_OTLP_%s_%s"):format(signal:upper(), word), "OTEL_EXPORTER_OTLP_" .. word)
    if name then return system.failure("invalid", "%s: certificates of clients are not known here; nothing is sent", name) end
  end
  return true
end

local function headers_of(env, signal)
  local text, name = env.text(("OTEL_EXPORTER_OTLP_%s_HEADERS"):format(signal:upper()), "OTEL_EXPORTER_OTLP_HEADERS")
  local list, wrong = pairs_of(text)
  if not list then return system.failure("invalid", "%s: 'name=value,name=value' expected, got '%s'", name, wrong) end
  local headers = {}
  for key, value in pairs(list) do
    if key:find "[^%w!#$&'*+.^_`|~-]" or value:find "[%c]" then return system.failure("invalid", "%s: '%s' is no header", name, key) end
    headers[key:lower()] = value
  end
  headers["content-type"], headers["user-agent"] = "application/json", "OTel-OTLP-Exporter-hocket/" .. system.version()
  return headers
end

local function read_signal(env, signal)
  local ok, err = check_protocol(env, signal)
  if ok then ok, err = check_tls(env, signal) end
  if not ok then return nil, err end
  local url, headers
  url, err = url_of(env, signal)
  if not url then return nil, err end
  headers, err = headers_of(env, signal)
  if not headers then return nil, err end
  return { url = url, headers = headers, timeout = env.number(10000, 1, ("OTEL_EXPORTER_OTLP_%s_TIMEOUT"):format(signal:upper()), "OTEL_EXPORTER_OTLP_TIMEOUT") / 1000 }
end

local function is_on(env)
  if env.text "OTEL_EXPORTER_OTLP_ENDPOINT" then return true end
  return false
end

local function read_signals(env, self)
  for _, signal in ipairs(SIGNALS) do
    local by_default = is_on(env) or env.text(("OTEL_EXPORTER_OTLP_%s_ENDPOINT"):format(signal:upper())) ~= nil
    if wanted(env, signal, by_default, self.warnings) then
      local one, err = read_signal(env, signal)
      if not one then return nil, err end
      self.signals[signal] = one
    end
  end
  return true
end

-- ---- What, and how much ------------------------------------------------------------------------------

local function resource_of(env, warnings)
  local given, wrong = pairs_of(env.text "OTEL_RESOURCE_ATTRIBUTES")
  if not given then
    warnings[#warnings + 1] = ("OTEL_RESOURCE_ATTRIBUTES is left out: 'name=value,name=value' expected, got '%s'"):format(wrong)
    given = {}
  end
  local resource = { ["service.name"] = "hocket", ["service.version"] = system.version(), ["telemetry.sdk.name"] = "hocket", ["telemetry.sdk.language"] = "lua",
    ["telemetry.sdk.version"] = system.version(), ["service.instance.id"] = system.run_id() }
  for name, value in pairs(given) do resource[name] = value end
  resource["service.name"] = env.text "OTEL_SERVICE_NAME" or resource["service.name"]
  return resource
end

local function sampler_of(env, warnings)
  local name = env.text "OTEL_TRACES_SAMPLER" or "parentbased_always_on"
  if not trace.is_sampler(name) then
    warnings[#warnings + 1] = ("OTEL_TRACES_SAMPLER=%s is not known: parentbased_always_on is taken"):format(name)
    name = "parentbased_always_on"
  end
  local text = env.text "OTEL_TRACES_SAMPLER_ARG"
  local ratio = tonumber(text or 1)
  if not ratio or not (ratio >= 0 and ratio <= 1) then
    if name:find "ratio" then warnings[#warnings + 1] = ("OTEL_TRACES_SAMPLER_ARG=%s is no number from 0 to 1: 1 is taken"):format(text) end
    ratio = 1
  end
  return { name = name, ratio = ratio }
end

local contents = {
  ["true"] = { span = true }, span_only = { span = true }, event_only = { log = true }, span_and_event = { span = true, log = true },
  ["false"] = {}, no_content = {},
}

local function content_of(env, warnings)
  local text = env.text "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" or "false"
  local found = contents[text:lower()]
  if not found then
    warnings[#warnings + 1] = ("OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=%s is not known, no content is sent: there are true, false, span_only, event_only, span_and_event, no_content"):format(text)
  end
  return { span = (found or {}).span or false, log = (found or {}).log or false }
end

local function queue_of(env, word, delay)
  local size = env.number(2048, 1, ("OTEL_%s_MAX_QUEUE_SIZE"):format(word))
  return {
    size = size, batch = math.min(env.number(512, 1, ("OTEL_%s_MAX_EXPORT_BATCH_SIZE"):format(word)), size),
    delay = env.number(delay, 0, ("OTEL_%s_SCHEDULE_DELAY"):format(word)) / 1000, patience = env.number(30000, 0, ("OTEL_%s_EXPORT_TIMEOUT"):format(word)) / 1000,
  }
end

local function limits_of(env)
  local length = env.number(false, 0, "OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT")
  local count = env.number(128, 0, "OTEL_ATTRIBUTE_COUNT_LIMIT")
  return {
    span_length = env.number(length, 0, "OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT"), log_length = env.number(length, 0, "OTEL_LOGRECORD_ATTRIBUTE_VALUE_LENGTH_LIMIT"),
    span_count = env.number(count, 0, "OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT"), log_count = env.number(count, 0, "OTEL_LOGRECORD_ATTRIBUTE_COUNT_LIMIT"),
    events = env.number(128, 0, "OTEL_SPAN_EVENT_COUNT_LIMIT"),
  }
end

-- Keys that this process has must not leave it, wherever they were said.
local function secrets_of(env, signals)
  local list = {}
  local function add(text)
    list[#list + 1] = text
  end
  for _, name in ipairs(providers.names()) do
    local def = providers.get(name)
    local vars = def and def.key_env
    for _, var in ipairs(type(vars) == "table" and vars or { vars }) do add(system.getenv(var)) end
  end
  for _, var in ipairs { "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "HOCKET_SERVE_TOKEN", "HOCKET_WEBHOOK_SECRET", "HOCKET_MCP_TOKEN" } do add(env.text(var)) end
  for _, one in pairs(signals) do
    for name, value in pairs(one.headers) do
      if name ~= "content-type" and name ~= "user-agent" then add(value:match "^%a+ (%S+)$" or value) end
    end
  end
  return list
end

local function has_word(text, word)
  for one in (text or ""):gmatch "[^,%s]+" do
    if one == word then return true end
  end
  return false
end

--- Reads them. nil without an error: nobody wants anything.
---@param given? table<string, string> Variables that count instead of the host's.
---@return hocket.TelemetrySettings?
---@return hocket.Error?
---@return string[]? warnings
function settings.read(given)
  local self = { signals = {}, warnings = {} }
  local env = reader(given, self.warnings)
  if env.is_true "OTEL_SDK_DISABLED" then return nil end
  local ok, err = read_signals(env, self)
  if not ok then return nil, err end
  if not next(self.signals) then return nil, nil, self.warnings end
  self.resource, self.sampler, self.content = resource_of(env, self.warnings), sampler_of(env, self.warnings), content_of(env, self.warnings)
  self.latest = has_word(env.text "OTEL_SEMCONV_STABILITY_OPT_IN", "gen_ai_latest_experimental")
  self.limits = limits_of(env)
  self.queues = { traces = queue_of(env, "BSP", 5000), logs = queue_of(env, "BLRP", 1000) }
  self.interval = env.number(60000, 1, "OTEL_METRIC_EXPORT_INTERVAL") / 1000
  self.queues.metrics = { size = 2, batch = 1, delay = 0, patience = env.number(30000, 0, "OTEL_METRIC_EXPORT_TIMEOUT") / 1000 }
  self.delta = (env.text "OTEL_EXPORTER_OTLP_METRICS_TEMPORALITY_PREFERENCE" or ""):lower() == "delta"
  self.propagate = has_word(env.text "OTEL_PROPAGATORS" or "tracecontext", "tracecontext")
  self.parent = self.propagate and trace.read(env.text "TRACEPARENT", env.text "TRACESTATE") or nil
  self.to_models = self.propagate and env.is_true "HOCKET_TRACE_MODELS"
  self.secrets = secrets_of(env, self.signals)
  return self, nil, self.warnings
end

return settings

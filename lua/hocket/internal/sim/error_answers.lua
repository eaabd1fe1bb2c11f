--- The scripted model's error answers, and the forms in which providers say when to come back. Each is
--- a function from harm (see faults.lua) to status, headers, detail and message.
local system = require "hocket.internal.core.system"

local answers = {}

local days = { "Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat" }
local months = { "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec" }

local function http_date(seconds)
  local t = os.date("!*t", math.ceil(seconds))
  return ("%s, %02d %s %04d %02d:%02d:%02d GMT"):format(days[t.wday], t.day, months[t.month], t.year, t.hour, t.min, t.sec)
end

local function rfc3339(seconds)
  local t = os.date("!*t", math.ceil(seconds))
  return ("%04d-%02d-%02dT%02d:%02d:%02dZ"):format(t.year, t.month, t.day, t.hour, t.min, t.sec)
end

local function number(value)
  return (("%.3f"):format(value):gsub("%.?0+$", ""))
end

-- What providers say of their limits with every answer; here that nothing is left.
local function limit_headers(harm)
  if harm.protocol.name == "anthropic" then
    return {
      ["anthropic-ratelimit-requests-limit"] = "50", ["anthropic-ratelimit-requests-remaining"] = "0",
      ["anthropic-ratelimit-requests-reset"] = rfc3339(system.wall() + harm.wait),
    }
  end
  return {
    ["x-ratelimit-limit-requests"] = "500", ["x-ratelimit-remaining-requests"] = "0",
    ["x-ratelimit-reset-requests"] = number(harm.wait) .. "s",
    ["x-ratelimit-limit-tokens"] = "200000", ["x-ratelimit-remaining-tokens"] = "0",
    ["x-ratelimit-reset-tokens"] = number(harm.wait * 1000) .. "ms",
  }
end

local function limited(headers_of, with_body)
  return function(harm)
    return 429, headers_of(harm), with_body and { retry_after = harm.wait } or nil, "Rate limit reached (simulated)"
  end
end

answers.forms = {
  ["429-seconds"] = limited(function(harm) return { ["retry-after"] = number(harm.wait) } end),
  ["429-date"] = limited(function(harm) return { ["retry-after"] = http_date(system.wall() + harm.wait) } end),
  ["429-ms"] = limited(function(harm) return { ["retry-after-ms"] = number(harm.wait * 1000) } end),
  ["429-headers"] = limited(limit_headers),
  ["429-body"] = limited(function() return {} end, true),
}

--- Always the same answer.
function answers.status(code, message, headers, detail)
  return function() return code, headers or {}, detail, message end
end

function answers.forms.any(harm)
  return answers.forms[harm.random:pick { "429-seconds", "429-date", "429-ms", "429-headers", "429-body" }](harm)
end

function answers.forms.unavailable(harm)
  return 503, { ["retry-after"] = number(harm.wait) }, nil, "The server is overloaded (simulated)"
end

return answers

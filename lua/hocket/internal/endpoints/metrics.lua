--- /metrics: numbers of this process in Prometheus' text form (version 0.0.4).
local core = require "hocket.internal.core.host"
local fiber = require "hocket.internal.core.fiber"

local TYPE = "text/plain; version=0.0.4; charset=utf-8"

local function escape(value)
  return (tostring(value):gsub("[\\\"\n]", { ["\\"] = "\\\\", ['"'] = '\\"', ["\n"] = "\\n" }))
end

-- Adds a metric: rows are {value, label = value, …}.
local function add(out, name, kind, help, rows)
  out[#out + 1] = ("# HELP %s %s\n# TYPE %s %s"):format(name, help, name, kind)
  for _, row in ipairs(rows) do
    local labels = {}
    for label, value in pairs(row) do
      if label ~= 1 then labels[#labels + 1] = ('%s="%s"'):format(label, escape(value)) end
    end
    table.sort(labels)
    local value = math.type(row[1]) == "integer" and ("%d"):format(row[1]) or ("%.17g"):format(row[1])
    out[#out + 1] = ("%s%s %s"):format(name, #labels > 0 and "{" .. table.concat(labels, ",") .. "}" or "", value)
  end
end

local function by_status(counts)
  local rows = {}
  for status, n in pairs(counts) do rows[#rows + 1] = { n, status = status } end
  table.sort(rows, function(a, b) return a.status < b.status end)
  return rows
end

local function by_state(counts)
  local rows = {}
  for _, state in ipairs { "done", "failed", "cancelled", "parked" } do rows[#rows + 1] = { counts[state], state = state } end
  return rows
end

local function waiting(desk)
  local n = 0
  for _, run in ipairs(desk:all()) do n = n + (run:is_at_work() and 0 or 1) end
  return n
end

local used = { "input", "output", "cached", "reasoning" }

local function tokens(desk)
  local rows = {}
  for i, kind in ipairs(used) do rows[i] = { desk.used[kind], kind = kind } end
  return rows
end

local function text(server)
  local desk, out = server.desk, {}
  local requests, streams = server:at_work()
  local stats = core.stats()
  add(out, "hocket_runs_started_total", "counter", "Runs that were begun or gone on with.", { { desk.counts.started } })
  add(out, "hocket_runs_ended_total", "counter", "Runs that have ended, or were put away.", by_state(desk.counts))
  add(out, "hocket_runs_refused_total", "counter", "Runs that were refused: too many were at work, and waited.", { { desk.counts.refused } })
  add(out, "hocket_runs_at_work", "gauge", "Runs that do something.", { { desk:at_work() } })
  add(out, "hocket_runs_waiting", "gauge", "Runs that wait for a person.", { { waiting(desk) } })
  add(out, "hocket_runs_queued", "gauge", "Runs that wait for their turn.", { { desk:queued() } })
  add(out, "hocket_runs_limit", "gauge", "Runs that may be at work at once.", { { desk.max_runs } })
  add(out, "hocket_tokens_total", "counter", "Tokens of runs that have ended; cached ones are input, reasoning ones output, too.", tokens(desk))
  add(out, "hocket_cost_dollars_total", "counter", "What is known of the cost of runs that have ended.", { { desk.used.cost } })
  add(out, "hocket_model_calls_total", "counter", "Calls of models of runs that have ended.", { { desk.used.calls } })
  add(out, "hocket_http_requests_total", "counter", "Requests that were answered, by status; 499: the client went before.", by_status(server.counts))
  add(out, "hocket_http_requests_open", "gauge", "Requests that are being answered.", { { requests } })
  add(out, "hocket_http_streams_open", "gauge", "Event streams among them.", { { streams } })
  add(out, "hocket_http_connections", "gauge", "Connections of clients.", { { server.listener:connections() } })
  add(out, "hocket_fibers", "gauge", "Fibers of Lua code.", { { stats.fibers } })
  add(out, "hocket_model_requests", "gauge", "Requests to models and servers that are under way.", { { stats.requests } })
  add(out, "hocket_lua_bytes", "gauge", "Memory of the Lua state.", { { stats.lua_bytes } })
  add(out, "hocket_uptime_seconds", "gauge", "How long this server has been there.", { { fiber.now() - server.began } })
  out[#out + 1] = ""
  return table.concat(out, "\n")
end

return function(server)
  server.router:on("GET", "/metrics", function(_, response)
    response:send(200, text(server), { ["content-type"] = TYPE, ["cache-control"] = "no-store" })
  end)
end

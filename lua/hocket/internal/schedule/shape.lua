--- What the JSON of a schedule has to look like: whoever may write into the store has written it, of whatever version. What is not so
--- is no schedule: shown as one that cannot be read, left as it is, and due no more. Members that are not named here stay.
---
---     is_spec(value) ──> boolean
local function is_text(one)
  return type(one) == "string"
end

local function is_flag(one)
  return type(one) == "boolean"
end

local function is_from(low, high)
  return function(one) return math.type(one) == "integer" and one >= low and one <= high end
end

local is_count, is_time = is_from(0, 1 << 53), is_from(0, 1 << 53)

local function is_one_of(...)
  local set = {}
  for _, word in ipairs { ... } do set[word] = true end
  return function(one) return set[one] == true end
end

local function maybe(check)
  return function(one) return one == nil or check(one) end
end

local function is_list_of(check)
  return function(list)
    if type(list) ~= "table" then return false end
    local n = 0
    for i, one in pairs(list) do
      n = n + 1
      if math.type(i) ~= "integer" or not check(one) then return false end
    end
    return n == #list
  end
end

local function is_table_of(checks)
  return function(one)
    if type(one) ~= "table" then return false end
    for key, check in pairs(checks) do
      if not check(one[key]) then return false end
    end
    return true
  end
end

local is_last = is_table_of { run = is_text, planned_ms = maybe(is_time), at_ms = maybe(is_time), state = maybe(is_text) }

local is_notice = is_table_of { id = is_text, body = is_text, after_ms = is_time, since_ms = is_time, pause = is_from(1, 3600), busy = maybe(is_from(1, 60000)) }

return is_table_of {
  cron = is_text, tz = is_text, missed = is_one_of("once", "skip", "all"), overlap = is_one_of("skip", "queue", "allow"),
  target = is_text, input = maybe(is_text), options = is_text, pool = is_text, project = maybe(is_text),
  next_ms = maybe(is_time), again_ms = maybe(is_time), until_ms = maybe(is_time), set_ms = maybe(is_time),
  paused = maybe(is_flag), waiting = maybe(is_flag), problem = maybe(is_text), webhook = maybe(is_text), ping = maybe(is_text),
  fired = maybe(is_count), failed = maybe(is_count), skipped = maybe(is_count), untold = maybe(is_count),
  last = maybe(is_last), open = maybe(is_list_of(is_text)), notices = maybe(is_list_of(is_notice)),
}

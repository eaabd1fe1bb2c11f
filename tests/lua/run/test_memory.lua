-- What a job that is queued costs. In a process of its own: what others have freed would be used again, and
-- not be seen.
local flow = require "hocket.flow"
local broker = require "hocket.broker"
local system = require "hocket.internal.core.system"
local t = require "harness"

local JOBS = 50000

-- Without what stands in files, as programs do: the system takes that out of memory, and in again, as it likes.
local function resident()
  local file = io.open "/proc/self/statm"
  if not file then return nil end
  local pages, of_files = file:read "a":match "^%d+ (%d+) (%d+)"
  file:close()
  return (tonumber(pages) - tonumber(of_files)) * 4096
end

local function lua_bytes()
  collectgarbage()
  collectgarbage()
  return collectgarbage "count" * 1024
end

t.test("a queued job takes 1 KB at most, of which Lua has a quarter", function()
  local jobs = broker.new()
  local function work() return true end
  jobs:limit("all", nil, 1)
  jobs:submit { run = function() flow.sleep(60) end }
  flow.yield()
  local lua, all = lua_bytes(), resident()
  for i = 1, JOBS do
    assert(jobs:submit { run = work, agent = "a" .. i % 10 })
    if i % 1000 == 0 then
      flow.yield() -- events are taken
      collectgarbage()
    end
  end
  local lua_each = (lua_bytes() - lua) / JOBS
  local all_each = all and (resident() - all) / JOBS or 0
  print(("per queued job: %.0f bytes, %.0f of them Lua's"):format(all_each, lua_each))
  t.ok(lua_each <= 256, ("%.0f bytes of Lua"):format(lua_each))
  if not system.getenv "HOCKET_SANITIZED" then -- sanitizers keep what was freed, and add to each block
    t.ok(all_each <= 1024 * (tonumber(system.getenv "HOCKET_TEST_BLOCKS") or 1), ("%.0f bytes"):format(all_each))
  end
  t.equal(jobs:cancel_all(0), JOBS + 1)
  jobs:close()
end)

return t.finish()

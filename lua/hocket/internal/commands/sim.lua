--- `hocket sim SCRIPT`: serves a scripted model to anybody on this machine, until it is cancelled; and what faults it can have.
local sim_faults = require "hocket.internal.sim.faults"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.internal.core.fs"
local sim = require "hocket.sim"
local trust = require "hocket.internal.runner.trust"

local commands = {}

-- A script is what was named; of a project it is its sim.lua, which its folder has to be trusted for.
local function script_of(path)
  local info = fs.info(path)
  if not info or info.kind ~= "directory" then return path end
  path = path:gsub("(.)/+$", "%1")
  if not fs.info(path .. "/sim.lua") then return path .. "/sim.lua" end
  local ok, err = trust.known(path)
  if ok then return path .. "/sim.lua" end
  return nil, { code = err.code, message = ("%s; or name the script (hocket sim %s/sim.lua)"):format(err.message, path) }
end

---@async
---@param args {script?: string, port?: integer, latency?: number, pause?: number, fault?: string, fault_rate?: number, seed?: integer, retry_after?: number, strict?: string}
---@param journal userdata
function commands.sim(args, journal)
  local script, err
  if args.script then
    local path
    path, err = script_of(args.script)
    if not path then return nil, err end
    script, err = sim.load(path)
    if not script then return nil, { code = "agent", message = err.message } end -- also one not there
  else
    script = require "hocket.sim.team" {}
  end
  local served
  served, err = sim.serve(script, {
    port = args.port, latency = args.latency, pause = args.pause, fault = args.fault, fault_rate = args.fault_rate,
    seed = args.seed, retry_after = args.retry_after, strict = args.strict,
  })
  if not served then return nil, err end
  journal:append("serving", { base = served.base, root = served.root, port = served.port })
  local closing <close> = setmetatable({}, { __close = served.close })
  while true do fiber.sleep(86400) end
end

--- The faults of the scripted model, for `hocket sim --help`.
function commands.faults()
  local list = {}
  for i, fault in ipairs(sim_faults.list) do list[i] = { name = fault.name, kind = fault.kind, text = fault.text } end
  return { faults = list, text = sim_faults.help() }
end

return commands

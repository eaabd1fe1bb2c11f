--- What `hocket doctor` finds wrong, each with the command that mends it; and with `--fix` what it mends by itself: what can lose nothing.
local ended = require "hocket.internal.base.lazy" "hocket.internal.commands.runs"
local fs = require "hocket.internal.core.fs"
local model = require "hocket.model"
local programs = require "hocket.internal.tools.programs"
local rule_check = require "hocket.internal.session.rule_check"
local sandbox = require "hocket.internal.tools.sandbox"
local state_dir = require "hocket.internal.run.state_dir"
local system = require "hocket.internal.core.system"
local workers = require "hocket.internal.base.lazy" "hocket.internal.commands.workers.list"

local problems = {}

--- Files in the state directory that only their owner may read.
local SECRETS = { "serve-token", "webhook-secret" }

---@class hocket.DoctorProblem
---@field code string
---@field message string
---@field command string Mends it, as it is typed.
---@field fix? fun(): boolean?, hocket.Error? What `--fix` does.

local function add(list, code, message, command, fix)
  list[#list + 1] = { code = code, message = message, command = command, fix = fix }
end

local function quoted(path)
  return path:find "^[%w_./-]+$" and path or "'" .. path:gsub("'", "'\\''") .. "'"
end

local function of_models(list)
  local default, why = model.default()
  if default then return end
  add(list, "model", why.code == "auth" and "no key is set (another provider's or HOCKET_MODEL will do), and no local server answers" or why.message, "export OPENAI_API_KEY=YOUR_KEY")
end

local INSTALLERS = { ["/sbin/apk"] = "apk add", ["/usr/bin/dnf"] = "dnf install", ["/usr/bin/pacman"] = "pacman -S" }

local function of_sandbox(list)
  local level = sandbox.level()
  if level == "bubblewrap" or level == "landlock" or not programs.env then return end -- where none exists, the levels say so
  local installs = "apt-get install"
  for path, words in pairs(INSTALLERS) do installs = fs.info(path) and words or installs end
  add(list, "sandbox", "no sandbox works here for programs that tools run, beyond limits",
    fs.info "/proc/self" and ("sudo %s bubblewrap"):format(installs) or "mount -t proc proc /proc")
end

local function of_rules(list)
  local wrong = rule_check.early {}
  if wrong then add(list, "approve", "HOCKET_APPROVE: " .. wrong.message, "unset HOCKET_APPROVE") end
end

-- By the command that is printed: a copy in its place would be another's file under sudo.
local function make_private(dir, name)
  local path = dir .. "/" .. name
  if fs.info(path).kind ~= "file" or fs.real(path) ~= (fs.real(dir) or "") .. "/" .. name then return nil, system.error { code = "denied", message = "it is a link, or no file" } end
  if os.execute("chmod 600 " .. quoted(path)) then return true end
  return nil, system.error { code = "io", message = "chmod failed" }
end

-- A secret that others can read is refused when it is needed, at night.
local function of_secrets(list)
  local dir = state_dir()
  for _, name in ipairs(dir and SECRETS or {}) do
    local path = dir .. "/" .. name
    local info = fs.info(path)
    if info and not info.private then
      add(list, "secret", path .. " can be read by others", "chmod 600 " .. quoted(path), function() return make_private(dir, name) end)
    end
  end
end

local function of_home(list)
  local dir = state_dir()
  if not dir then return add(list, "home", "there is no home to keep runs in (--store FILE names another place)", "export HOME=/var/lib/hocket") end
  local home = dir:gsub("/hocket$", ""):gsub("/%.local/state$", "")
  for _, path in ipairs { dir, home } do
    local info = fs.info(path)
    if info and info.kind ~= "directory" then return add(list, "home", path .. " is no folder, so no runs are kept there", "export XDG_STATE_HOME=/var/lib") end
    if info then return end -- the first run makes it
  end
  add(list, "home", "the home for " .. dir .. " is not there", "mkdir -p -m 700 " .. quoted(dir), function() return fs.mkdir(dir, { private = true }) end)
end

-- ---- The store ----------------------------------------------------------------------------------------

local function of_runs(list, found)
  local n = #found.runs
  if n > 0 then add(list, "cut_off", ("%d %s cut off, as a process ended"):format(n, n == 1 and "run was" or "runs were"), "hocket resume --all") end
end

local function of_pools(list, told)
  for _, pool in ipairs(told.pools or {}) do
    if pool.unserved then add(list, "pool", ("no worker takes what is queued in the pool %s"):format(pool.name), "hocket work --pool " .. pool.name) end
  end
end

local function unusable(list, why)
  add(list, "store", ("the store cannot be used: %s (back it up before you migrate it; --store names another)"):format(why), "hocket store migrate")
end

local function of_store(list)
  local found, err = ended { state = "cut_off", limit = 0 }
  if not found then return unusable(list, err.message) end
  of_runs(list, found)
  local told = workers {}
  if told then of_pools(list, told) end
end

--- Looks for problems. `kept`: whether there is a store to look at; `wrong`: why it cannot be opened.
---@async
---@param kept boolean
---@param wrong? string
---@return hocket.DoctorProblem[]
function problems.find(kept, wrong)
  local list = {}
  of_models(list)
  of_sandbox(list)
  of_rules(list)
  of_home(list)
  of_secrets(list)
  if wrong then unusable(list, wrong) elseif kept then of_store(list) end
  return list
end

--- Mends what can be mended without losing anything. Each problem says then whether it was: `fixed`, or `failed` with the reason.
---@param list hocket.DoctorProblem[]
function problems.mend(list)
  for _, one in ipairs(list) do
    if one.fix then
      local ok, err = one.fix()
      one.fixed, one.failed = ok ~= nil and ok ~= false, not ok and err and err.message or nil
    end
  end
end

return problems

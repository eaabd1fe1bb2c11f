--- What the files of a directory say now: looks, and reads what has changed.
local beyond = require "hocket.internal.live.beyond"
local fiber = require "hocket.internal.core.fiber"
local script = require "hocket.internal.base.script"
local scans = require "hocket.internal.core.scan"
local views = require "hocket.internal.live.view"
local wake_all = require "hocket.internal.base.wake_all"

local stage = {}

--- Endings of files that count, beside those of scripts; a hidden file that agents are made of, too; and hidden folders in which
--- other programs keep agents and servers.
local ENDINGS = "md ai json txt yaml yml tmpl .mcp.json .claude/ .github/ .opencode/ .gemini/ .vscode/ .cursor/"

---@class hocket.Stage
---@field view hocket.View
local Stage = {}
Stage.__index = Stage

--- Of a directory. Nothing was read yet.
---@param dir string
---@return hocket.Stage
function stage.new(dir)
  local view = views.empty(dir)
  return setmetatable({ view = view, scan = scans.new(view.abs, ENDINGS .. " " .. table.concat(script.endings(), " ")), waiting = {} }, Stage)
end

-- One look at a time. Who is in no fiber cannot wait for another's.
local function enter(self)
  while self.looking or self.scan:busy() do
    if not fiber.self() then return false end
    if self.looking then self.waiting[#self.waiting + 1] = fiber.self() end
    fiber.park(not self.looking and 0.005 or nil) -- a look that was given up goes on for a moment
  end
  self.looking = true
  return true
end

local function leave(self)
  self.looking = false
  wake_all(self.waiting)
end

--- Looks. `view` is another one when something has changed.
---@return boolean? looked nil: somebody else does, and the caller cannot wait; or with an error
---@return hocket.Error?
function Stage:look()
  if not enter(self) then return nil end
  local closing <close> = setmetatable({}, { __close = function() leave(self) end })
  local some, err = self.scan:look()
  if some == nil then return nil, err end
  local above = beyond.look(self.view.dir, views.absolute, function(path) return self.view:is_below(path) end)
  local hash = self.scan:hash()
  if hash and above.hash ~= "" then hash = hash .. above.hash end
  if some or (hash or "gone") ~= self.view.hash then
    self.view = self.view:after(function(n) return self.scan:change(n) end, hash, above)
    self.scan:taken()
  end
  return true
end

--- The directories to be watched, and whether all their file systems tell of changes. Waits for a look that is under
--- way: none would pass for "nothing to watch".
---@async
---@return string[] dirs
---@return boolean told
function Stage:places()
  if not enter(self) then return {}, true end
  local closing <close> = setmetatable({}, { __close = function() leave(self) end })
  local dirs = self.scan:dirs()
  for abs in pairs(self.view.beyond and self.view.beyond.spelled or {}) do
    local dir = abs:match "^(.*)/[^/]*$"
    dirs[#dirs + 1] = dir:find("/", 1, true) and dir or dir .. "/" -- "/" and "C:/" keep their slash
  end
  return dirs, self.scan:told()
end

return stage

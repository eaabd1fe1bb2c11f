--- What the Lua of a folder may load that a person has trusted. The yes was about its Lua as it was then. So `dofile`, `loadfile` and `require` take:
---
---     a file of that folder    whose text is the one that was trusted
---     a module                 from where this machine's Lua looks for modules (package.path, LUA_PATH)
---     another file             that was trusted by itself or with its own folder, or lies in a folder of HOCKET_TRUST
---     otherwise                refused: `dofile "data.txt"` has to end in .lua, so that the next yes is about it, too
---
--- A script that was named, `--trust` and HOCKET_TRUST leave a run free. What trusted Lua does otherwise (programs, `load` of a text) is not held.
local effects = require "hocket.internal.base.effects"
local fs = require "hocket.internal.core.fs"
local system = require "hocket.internal.core.system"
local trust = require "hocket.internal.runner.trust"

local loaded_code = {}

-- Where this machine's Lua looks for modules, before any script has changed that.
local machine_path = package.path .. ";" .. package.cpath

local function is_of_machine(path)
  for template in machine_path:gmatch "[^;]+" do
    local prefix = template:match "^(/[^?]+/)%?"
    if prefix and path:sub(1, #prefix) == prefix and not path:find("/../", #prefix, true) then return true end
  end
  return false
end

-- Whether a text is one that was trusted at its place.
local function was_trusted(codes, path, digest)
  for _, code in ipairs(codes) do
    if code.path == path and code.digest == digest then return true end
    for _, dir in ipairs { code.dir, code.path } do
      local name = system.below(path, dir)
      if name and code.files and code.files[name] == digest then return true end
    end
  end
  return false
end

--- Notes what was trusted of a run's target, in all lives of the run.
---@param run hocket.Run
---@param codes hocket.Code[]
---@return boolean is_bound
function loaded_code.note(run, codes)
  local bound = {}
  for _, code in ipairs(codes) do bound[#bound + 1] = code.bound and code or nil end
  if not bound[1] or run.generation then return false end -- of a run whose files are watched its person changes them
  run.bound_code = bound
  return true
end

local SCRIPT = "Give it the ending .lua there, and look at it when you are asked; or run with --trust"
local IN_C = "A module in C cannot be looked at: it needs --trust"

local function admit(run, path, text, advice)
  local codes, digest = run.bound_code, system.digest(text)
  if was_trusted(codes, path, digest) then return true end
  local admitted = effects.value("trust", { of = "load", path = path }, function()
    local real = fs.real(path) or path
    return is_of_machine(path) or was_trusted(codes, real, digest) or trust.has_script(real, digest)
  end)
  if admitted then return true end
  return nil, ("%s was no part of the Lua that was trusted with %s. %s"):format(path, codes[1].path, advice)
end

--- Whether a text may be compiled in a run.
---@param run hocket.Run
---@param path string
---@param text string
---@return true? admitted
---@return string? wrong
function loaded_code.may_load(run, path, text)
  return admit(run, path, text, SCRIPT)
end

--- The same of a module that Lua's own `require` would find, which no script of hocket's reads: in C, or under another ending.
--- It takes what it finds first: a script, a program, the program of the root (`x.so` for `x.y`).
---@param run hocket.Run
---@param name string
---@param own {path: string, cpath: string} The script's `package`.
---@return true? admitted
---@return string? wrong
function loaded_code.may_find(run, name, own)
  local root = name:match "^([^.]*)%." or name
  for _, place in ipairs { { name, own.path, SCRIPT }, { name, own.cpath, IN_C }, { root, own.cpath, IN_C } } do
    local file = type(place[2]) == "string" and package.searchpath(place[1], place[2])
    if file then return admit(run, file, fs.read(file) or "", place[3]) end
  end
  return true
end

return loaded_code

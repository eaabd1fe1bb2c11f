--- How the programs of tools are found and started on this system.
local system = require "hocket.internal.core.system"

---@class hocket.Programs
---@field shell string[] Before a command line.
---@field nothing string[] A program that does nothing, whole.
---@field path string Where the system's programs are.
---@field first string Where interpreters are looked for before the PATH.
---@field folder string A pattern for one folder in a PATH.
---@field between string What stands between two of them.
---@field suffix string Of the files of programs.
---@field env? string The program that finds another one by the PATH.
---@field temp string
---@field top string A folder that is always there.
---@field note? string What a model has to know whose command failed.

local programs = system.programs() or {
  shell = { "/bin/sh", "-c" }, nothing = { "/bin/true" }, path = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin",
  first = "/usr/bin:/usr/local/bin:", folder = "[^:]+", between = ":", suffix = "", env = "/usr/bin/env", temp = "/tmp", top = "/",
}

return programs --[[@as hocket.Programs]]

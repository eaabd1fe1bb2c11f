---@meta hocket.process

--- Programs, each started in a sandbox by a process of its own, and ended with everything that it started.
---
---     local process = require "hocket.process"
---     local result = assert(process.run { argv = { "/bin/echo", "hello" }, cwd = "/tmp", sandbox = "limits", timeout = 5 })
---     print(result.code, result.stdout)
---
--- Nothing is inherited: no environment, no descriptor, no terminal, no signal setting. docs/programs.md says more.
local process = {}

--- What holds a program. Paths are absolute; a number that is absent or 0 is no limit.
---@class hocket.ProcessSpec
---@field argv string[] The program and its arguments. It is looked up in the PATH of `env`.
---@field cwd string Where it works; "/tmp" is scratch space of its own.
---@field sandbox "bubblewrap"|"landlock"|"limits" The walls. `limits` has none around files and network.
---@field env? string[] "NAME=value": all of its environment. TMPDIR is set to its scratch space; so is HOME, unless it is named here.
---@field input? string Its standard input; nothing to read without.
---@field readable? string[] What it may read beside the system's programs and libraries.
---@field writable? string[] What it may change beside its scratch space.
---@field guarded? string[] Below what is writable, but not to be changed; `limits` does not know it.
---@field protect? string A folder in which nothing is to be changed, or to come, that programs outside obey without being asked (`.git`, `.vscode` …): what is there is guarded, what comes is renamed to NAME.refused.
---@field network? boolean Whether it may use the network; false.
---@field proxy? userdata A proxy (of the component hocket-serve): the program has a network of its own in which there is nothing else. Not with `limits`.
---@field sockets? boolean Whether it may make sockets of AF_UNIX, which may lead to programs outside; false.
---@field timeout? number Seconds; then SIGTERM goes to the whole tree.
---@field grace? number Seconds from SIGTERM to SIGKILL; 2.
---@field cpu? integer CPU seconds of each process.
---@field memory? integer Bytes, of each process and of all together.
---@field file_size? integer Bytes of each file that is written.
---@field written? integer Bytes that all of it may write to disks. With it, a disk that becomes nearly full ends it, too.
---@field open_files? integer Of each process.
---@field processes? integer Of the whole tree.
---@field head? integer Bytes of each output that are kept from its begin; 1 MiB.
---@field tail? integer Bytes that are kept from its end when it is longer; 64 KiB.
---@field idempotent? boolean In a run that is kept: it may be run again where hocket has ended in the middle of it. Else that is an error with the code "unknown".
---@field launcher? string The program that acts as launcher, instead of the host's.

---@class hocket.ProcessResult
---@field code? integer The exit code.
---@field signal? string What ended it instead, as "KILL".
---@field timed_out boolean
---@field limit? "memory"|"processes"|"written"|"space" The limit that ended it.
---@field stdout string
---@field stderr string
---@field stdout_omitted? integer Bytes left out in the middle; the end is in `stdout_tail`. The same for stderr.
---@field stdout_tail? string
---@field stderr_omitted? integer
---@field stderr_tail? string
---@field unguarded? boolean It could change what was to be `guarded`: this machine lets nobody make mount namespaces.
---@field refused? integer How many names it made below `protect` that were set aside.
---@field refused_names? string The first of them, a line each.
---@field overlooked? boolean `protect` holds too much to be looked through, or something could not be guarded or set aside.
---@field left_behind integer Processes that it left running, which were ended.
---@field cpu number Seconds of CPU time.
---@field max_rss integer Bytes of memory, of the largest process.

--- Runs a program to its end. A cancel kills it. An exit code other than 0 is no error; one that
--- could not be started is ("not_found", "denied"), and walls that cannot be built here are
--- ("unsupported").
---@async
---@param spec hocket.ProcessSpec
---@return hocket.ProcessResult?
---@return hocket.Error?
function process.run(spec) end

--- Starts a program that is talked with. Options as for process.run, without `input`, `timeout`, `head` and `tail`.
---@param spec hocket.ProcessSpec
---@return hocket.Program?
---@return hocket.Error?
function process.open(spec) end

--- The file of the launcher, or nil when programs cannot be started here; and where the loader was told to look for libraries.
---@return string?
---@return string?
---@internal
function process.launcher() end

return process

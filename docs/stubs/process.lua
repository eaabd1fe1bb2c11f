---@meta hocket.process

--- Programs. Each runs in a sandbox, in its own process, and ends with everything that it started.
---
---     local process = require "hocket.process"
---     local result = assert(process.run { argv = { "/bin/echo", "hello" }, cwd = "/tmp", sandbox = "limits", timeout = 5 })
---     print(result.code, result.stdout)
---
--- Nothing is inherited: no environment, no descriptor, no terminal, no signal setting. docs/guides/tools.md says more.
local process = {}

--- What limits a program. Paths are absolute; a missing number, or 0, means no limit.
---@class hocket.ProcessSpec
---@field argv string[] The program and its arguments. It is looked up in the PATH of `env`.
---@field cwd string The working folder; "/tmp" is its own scratch space.
---@field sandbox "bubblewrap"|"landlock"|"limits" The level. `limits` does not isolate files and network.
---@field env? string[] "NAME=value": the whole environment. TMPDIR is set to the scratch space; so is HOME, unless it is named here.
---@field input? string The standard input; default: empty.
---@field readable? string[] Paths that it may read beside the system's programs and libraries.
---@field writable? string[] Paths that it may change beside its scratch space.
---@field guarded? string[] Paths below writable ones that it may not change; ignored by `limits`.
---@field protect? string A folder in which files that outside programs obey (`.git`, `.vscode` …) are protected: existing ones are guarded, new ones are renamed to NAME.refused.
---@field network? boolean Whether it may use the network; default false.
---@field proxy? userdata A proxy (of the component hocket-serve): the program gets its own network with only the proxy in it. Not with `limits`.
---@field sockets? boolean Whether it may create AF_UNIX sockets, which may lead to programs outside; default false.
---@field sockets? boolean Whether it may make sockets of AF_UNIX, which may lead to programs outside; false.
---@field timeout? number Seconds; then SIGTERM goes to the whole tree.
---@field grace? number Seconds from SIGTERM to SIGKILL; 2.
---@field cpu? integer CPU seconds of each process.
---@field memory? integer Bytes, for each process and for all together.
---@field file_size? integer Bytes of each written file.
---@field written? integer Bytes that all processes may write to disks. With this limit, a nearly full disk also ends the program.
---@field open_files? integer For each process.
---@field processes? integer For the whole tree.
---@field head? integer Bytes to keep from the beginning of each output; 1 MiB.
---@field tail? integer Bytes to keep from the end of a longer output; 64 KiB.
---@field idempotent? boolean In a durable run: run it again if hocket has ended during it. Without it, that is an error with the code "unknown".
---@field launcher? string The program that acts as launcher, instead of the host's.

---@class hocket.ProcessResult
---@field code? integer The exit code.
---@field signal? string The signal that ended it instead, for example "KILL".
---@field timed_out boolean
---@field limit? "memory"|"processes"|"written"|"space" The limit that ended it.
---@field stdout string
---@field stderr string
---@field stdout_omitted? integer Bytes omitted in the middle; the end is in `stdout_tail`. The same for stderr.
---@field stdout_tail? string
---@field stderr_omitted? integer
---@field stderr_tail? string
---@field unguarded? boolean It could change `guarded` paths, because this machine allows no mount namespaces.
---@field refused? integer The number of new names below `protect` that were set aside.
---@field refused_names? string The first of them, one per line.
---@field overlooked? boolean `protect` contains too much to check, or something could not be guarded or set aside.
---@field left_behind integer Processes that it left running, which were ended.
---@field cpu number Seconds of CPU time.
---@field max_rss integer Bytes of memory, of the largest process.

--- Runs a program to its end. A cancel kills it. An exit code other than 0 is not an error. A program that cannot be started is one
--- ("not_found", "denied"), and so is a sandbox that is not available here ("unsupported").
---@async
---@param spec hocket.ProcessSpec
---@return hocket.ProcessResult?
---@return hocket.Error?
function process.run(spec) end

--- Starts an interactive program. Options as for process.run, without `input`, `timeout`, `head` and `tail`.
---@param spec hocket.ProcessSpec
---@return hocket.Program?
---@return hocket.Error?
function process.open(spec) end

--- The file of the launcher, or nil when programs cannot be started here; and where the loader learned to look for libraries.
---@return string?
---@return string?
---@internal
function process.launcher() end

return process

---@meta

--- An interactive program. When the host ends, its input ends, and half a second later the program.
---@class hocket.Program
local Program = {}

--- The next line of its standard output, without its end. nil: there are no more. A line of more than `max` bytes (32 MiB) is skipped
--- ("limit"). Unread output waits: 1 MiB here, the rest in its pipe.
---@async
---@param max? integer
---@return string?
---@return hocket.Error?
function Program:read_line(max) end

--- Writes to its standard input. Waits while more than 1 MiB is pending. ("closed") if it reads no more.
---@async
---@param text string
---@return boolean? written
---@return hocket.Error?
function Program:write(text) end

--- Ends its standard input, which ends most programs.
function Program:end_input() end

--- Waits for its end. nil without an error: it has not ended in this time. Otherwise as process.run, without outputs.
---@async
---@param seconds? number
---@return hocket.ProcessResult?
---@return hocket.Error?
function Program:wait(seconds) end

--- The last 64 KiB of its standard error, and the number of bytes before them.
---@return string
---@return integer
function Program:stderr() end

--- Asks it, and everything that it started, to end: SIGTERM, after `grace` SIGKILL.
function Program:stop() end

--- Ends it, and everything that it started, at once. So does a `local program <close>`, and the collector.
function Program:close() end


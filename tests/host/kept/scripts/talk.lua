-- A program that is talked with, and an address where nobody is. What a process that is gone had opened is opened again.
local hocket = require "hocket"
local process = require "hocket.process"

local function say(line)
  for _ = 1, 4 do
    local program <close> = assert(process.open { argv = { "/bin/cat" }, cwd = "/tmp", sandbox = "limits", idempotent = true })
    local answer, err = program:write(line .. "\n")
    if answer then answer, err = program:read_line() end
    program:end_input()
    local ended = answer and program:wait(20)
    if ended and ended.code == 0 then return answer end
    assert(not err or err.code == "closed", err)
  end
end

local stream, err = hocket.http.open { url = "http://127.0.0.1:1/" }
return table.concat({ say "one", say "two", stream and "there" or err.code }, ", ")

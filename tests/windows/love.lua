-- Plays examples/embed/npcs without LÖVE, in any Lua with the module "hocket": what of `love` the game uses without a window,
-- 60 frames a second. luajit love.lua GAME SAVES --headless [--save|--load]. At the end it prints how long frames took.
local game, saves = arg[1], arg[2]
local separator = package.config:sub(1, 1)
local ended

love = { filesystem = {}, data = {}, event = {} }

function love.filesystem.getSource() return game end

function love.filesystem.write(name, text)
  local file = assert(io.open(saves .. "/" .. name, "wb"))
  file:write(text)
  return file:close()
end

function love.filesystem.read(name)
  local file = io.open(saves .. "/" .. name, "rb")
  local text = file and file:read "*a"
  if file then file:close() end
  return text
end

-- Of base64 the game needs what comes back as it went.
function love.data.encode(_, _, bytes)
  return (bytes:gsub(".", function(byte) return ("%02x"):format(byte:byte()) end))
end

function love.data.decode(_, _, text)
  return (text:gsub("..", function(two) return string.char(tonumber(two, 16)) end))
end

function love.event.quit(code) ended = code end

-- A clock with microseconds, of the system by LuaJIT's ffi.
local ffi = require "ffi"
local now, sleep
if separator == "\\" then
  ffi.cdef "int QueryPerformanceCounter(int64_t *at); int QueryPerformanceFrequency(int64_t *a_second); void Sleep(uint32_t ms);"
  local at, a_second = ffi.new "int64_t[1]", ffi.new "int64_t[1]"
  ffi.C.QueryPerformanceFrequency(a_second)
  function now()
    ffi.C.QueryPerformanceCounter(at)
    return tonumber(at[0]) / tonumber(a_second[0])
  end
  function sleep(seconds) ffi.C.Sleep(seconds * 1000) end
else
  ffi.cdef "struct at { long s, ns; }; int clock_gettime(int clock, struct at *at); int usleep(unsigned us);"
  local at = ffi.new "struct at"
  function now()
    ffi.C.clock_gettime(1, at)
    return tonumber(at.s) + tonumber(at.ns) / 1e9
  end
  function sleep(seconds) ffi.C.usleep(seconds * 1e6) end
end

dofile(game .. "/main.lua")
local frames, began = {}, now()
love.load { unpack(arg, 3) }
local loaded = now() - began
local last = now()
while not ended do
  local start = now()
  if start - began > 50 then error "the game does not end" end
  love.update(start - last)
  last = start
  local took = now() - start
  frames[#frames + 1] = took
  sleep(math.max(0.001, 1 / 60 - took))
end
love.quit()
local first = frames[1]
table.sort(frames)
print(("%d frames: loading %.1f ms, the first pump %.2f, median %.3f, p99 %.2f, the longest %.2f"):format(#frames, loaded * 1e3, first * 1e3,
  frames[math.ceil(#frames / 2)] * 1e3, frames[math.ceil(#frames * 0.99)] * 1e3, frames[#frames] * 1e3))
os.exit(ended)

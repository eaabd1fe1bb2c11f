-- What hocket_engine has done in a folder, after some ends by TerminateProcess: ended.lua FOLDER. Nothing is done twice. A call that
-- was under way is not made again, and the model reads that nobody knows whether it was done: so there may be fewer lines
-- than calls, and never more.
local CALLS = 12

local function lines_of(name)
  local lines = {}
  for line in io.lines(arg[1] .. "/" .. name) do lines[#lines + 1] = line:gsub("\r$", "") end
  return lines
end

local answer, done, seen = lines_of("answer")[1], lines_of "done", {}
assert(answer:find "^counted", answer)
for _, line in ipairs(done) do
  assert(not seen[line], "twice: " .. line)
  seen[line] = true
end
local unknown = tonumber(answer:match "^counted, (%d+) unknown$" or 0)
assert(#done <= CALLS and #done + unknown >= CALLS, ("%d of %d calls, of which %d are unknown"):format(#done, CALLS, unknown))
print(("%d of %d calls, and the model knows of %d that nobody knows how they ended"):format(#done, CALLS, unknown))

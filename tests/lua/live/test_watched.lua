-- A script that watches its files is told what that means for it: a run that is kept goes on with the files that it began with.
local t = require "harness"
local hocket = require "hocket"
local live = require "hocket.live"
local s = require "scripted"

t.test("a run that is kept is warned when it watches files, and sees no change of them", function()
  local dir <close> = t.dir()
  local file = dir:write("clerk.md", "---\nname: clerk\nmodel: sim/m\n---\nOne.\n")
  local run = s.run(function()
    local alive = assert(live.open(file))
    local closing <close> = setmetatable({}, { __close = function() alive:close() end })
    local out <close> = assert(io.open(file, "w")) -- as an editor does, beside the run
    out:write "---\nname: clerk\nmodel: sim/m\n---\nTwo.\n"
    out:flush()
    alive:check()
    t.equal(hocket.agent(file).prompt:match "%a+", t.kept and "One" or "Two")
    return { text = "over" }
  end)
  local warnings = s.events(run, "warning")
  t.equal(#warnings, t.kept and 1 or 0)
  if t.kept then t.has(warnings[1].message, "run this script with --store off") end
end)

return t.finish()

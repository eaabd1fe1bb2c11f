-- A project with hooks.lua that a program loads with load_dir: its hooks are asked in each run of its targets, in every Lua. The folder of
-- agents takes the hooks above it along; a text with a mistake leaves those before it; a run keeps the ones of its beginning, also in a save.
local here = arg[0]:match "^(.*)/[^/]*$"
local hocket = require "hocket"
local scene = dofile(here .. "/scene.lua")
local test = scene.test
local looked = {}

local function look(host, answer)
  assert(host:tool { name = "look", description = "Looks.", idempotent = true, parameters = { type = "object", properties = { place = { type = "string" } } },
    run = function(args, call)
      looked[#looked + 1] = args.place
      return answer(args, call)
    end })
end

local function at_once(args) return "crabs in " .. args.place end

local function contains(text, part)
  assert(text and text:find(part, 1, true), ("expected '%s' in '%s'"):format(part, tostring(text)))
end

local host = assert(hocket.open { store = "memory" })
look(host, at_once)

local function said(target, input, options)
  local reply, err = host:run(target, input, options)
  return reply and reply.text, err
end

for _, dir in ipairs { here .. "/hooked/agents", here .. "/hooked" } do
  assert(host:load_dir("inn", dir) == "buffer:inn")
  local target = dir:find "agents$" and "buffer:inn" or "buffer:inn/agents/cook.md"
  test("hooks of " .. dir, function()
    assert(said(target, "hello") == "heard: hello (seen)")
    local none, err = said(target, "closed")
    assert(none == nil and err.code == "denied")
    contains(err.message, "the inn is closed")
    assert(said(target, "menu") == "soup")
    looked = {}
    contains(said(target, "look attic"), "the attic is locked")
    assert(said(target, "look roof") == "heard: a cat on the roof (seen)")
    assert(#looked == 0)
    contains(said(target, "look hall"), "Mind the step.")
    contains(said(target, "look cellar"), "crabs in room ")
    assert(#looked == 2 and looked[1] == "hall" and looked[2]:find "^room %d+$")
    for _, input in ipairs { "loop", "sleep" } do
      none, err = said(target, input)
      assert(none == nil and err.code == "denied")
      contains(err.message, "the hook of buffer:inn/hooks.lua failed")
    end
  end)
end
local target = "buffer:inn/agents/cook.md"

test("whom nobody trusts runs no hook, and nothing else", function()
  local none, err = said(target, "hello", { trust = false })
  assert(none == nil and err.code == "denied")
  contains(err.message, "hooks.lua")
end)

test("another text: runs that go on keep theirs, and one with a mistake is refused", function()
  local later
  look(assert(host:remove_tool "look") and host, function(_, call)
    later = call
  end)
  local run = assert(host:start(target, "look cellar"))
  while not later do host:wait(10) end
  assert(host:load("inn/hooks.lua", "return { after_agent = function(event) return { answer = event.result .. ' (newer)' } end }"))
  assert(said(target, "hello") == "heard: hello (newer)")
  for text, part in pairs { ["\nreturn { after_agnt = print }"] = ":2", ["return {"] = ":1", ["return 5"] = ":1", ["return { before_tool = {\n{ run = print, when = 1 } } }"] = ":2" } do
    local none, err = host:load("inn/hooks.lua", text)
    assert(none == nil and err.code == "agent")
    contains(err.message, "buffer:inn/hooks.lua" .. part)
    assert(said(target, "hello") == "heard: hello (newer)")
  end
  assert(later:answer "crabs")
  contains(assert(run:wait()).text, "(seen)")
end)

test("a save has what hooks decided, and the hooks of its beginning", function()
  assert(host:load_dir("inn", here .. "/hooked"))
  looked = {}
  local run = assert(host:start(target, "look cellar"))
  while not looked[1] do host:wait(10) end
  local saved = assert(run:save())
  run:cancel()
  host:close()
  local second = assert(hocket.open { store = "memory" })
  assert(second:load("inn/hooks.lua", "return { before_tool = function() return { deny = 'no' } end }"))
  look(second, at_once)
  local runs, wrong = second:restore(saved, { trust = false })
  local _, err
  if runs then _, err = runs[1]:wait() else err = wrong end
  assert(err and err.code == "denied", err and err.message)
  runs, wrong = second:restore(saved, { trust = true })
  assert(runs, wrong and wrong.message)
  local reply, failed = runs[1]:wait()
  assert(reply, failed and failed.message)
  contains(reply.text, "crabs in " .. looked[1])
  contains(reply.text, "(seen)")
  assert(looked[#looked] == looked[1] and #looked == 2, table.concat(looked, ", "))
  second:close()
end)

print(("%d tests passed in %s"):format(scene.ran, _VERSION))

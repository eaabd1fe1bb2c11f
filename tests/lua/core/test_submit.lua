--- Runs that are handed in, as scripts of the host do it: each is there whole, or not at all, and nobody's.
local t = require "harness"
local fiber = require "hocket.internal.core.fiber"
local store = require "hocket.internal.core.store"
local system = require "hocket.internal.core.system"

local POOL = "submitted"

local function spec(more)
  local made = { target = "a.lua", options = "{}", pool = POOL }
  for key, value in pairs(more or {}) do made[key] = value end
  return made
end

local function finish(row)
  assert(store.finish(row.id, row.fence, "cancelled"))
  assert(store.remove(row.id))
end

-- What a test that failed has left there.
local function empty()
  while true do
    local row, err = store.take_next(POOL)
    assert(not err, err)
    if not row then break end
    finish(row)
  end
end

local function texts(generation)
  local found = {}
  for _, file in ipairs(assert(store.files(generation))) do found[file.path] = file.text end
  return found
end

t.test("one that is handed in is there, with its files, and nobody's", function()
  empty()
  local id = assert(store.submit(spec { files = { ["a.lua"] = "return 1", b = "2" }, files_of = "travel-x" }))
  local row = assert(store.find(id))
  t.equal(row.state, "queued")
  t.equal(row.owner, nil)
  t.equal(row.generation, id .. ",travel-x")
  t.same(texts "travel-x", { ["a.lua"] = "return 1", b = "2" })
  local taken = assert(store.take_next(POOL))
  t.equal(taken.id, id)
  finish(taken)
  t.same(texts "travel-x", {})
end)

t.test("an id that is there is an answer, and no more", function()
  local id = assert(store.submit(spec()))
  local ok, err = store.submit(spec { id = id, files = { x = "other" }, files_of = "travel-y" })
  t.equal(ok, nil)
  t.equal(err.code, "exists")
  t.same(texts "travel-y", {})
  finish(assert(store.take_next(POOL)))
  t.equal(assert(store.submit(spec { id = id })), id, "it was removed")
  finish(assert(store.take_next(POOL)))
end)

t.test("one that this process works on goes on", function()
  local id = assert(store.submit(spec()))
  local row = assert(store.take_next(POOL))
  local _, err = store.submit(spec { id = id })
  t.equal(err.code, "exists")
  t.equal(assert(store.finish(row.id, row.fence, "queued")), id)
  finish(assert(store.take_next(POOL)))
  for _, one in ipairs(assert(store.runs { states = { "running" } })) do -- this script's own, which fails if it loses that
    _, err = store.submit(spec { id = one.id })
    t.equal(err.code, "exists")
  end
end)

t.test("one whose asker is cancelled is there, and a worker's", function()
  local id = system.run_id()
  local asker = fiber.spawn(function() store.submit(spec { id = id }) end)
  fiber.sleep(0)
  asker:cancel()
  local row
  repeat
    fiber.sleep(0.01)
    row = store.find(id)
  until row and not row.owner
  finish(assert(store.take_next(POOL)))
end)

t.test("what was taken for one that is cancelled then is given back", function()
  local id = assert(store.submit(spec()))
  for i = 1, 2 do
    local taker
    -- Asked first, it hears first: then the other one's answer is there, and it has not run yet.
    local first = fiber.spawn(function()
      assert(store.find(id))
      taker:cancel()
    end)
    taker = fiber.spawn(function() return i == 1 and store.take_next(POOL) or store.take(id) end)
    first:join()
    taker:join()
    local row = store.take_next(POOL)
    while not row do
      fiber.sleep(0.01)
      row = store.take_next(POOL)
    end
    t.equal(row.id, id)
    t.equal(row.attempts, nil, "no worker was lost with it")
    t.equal(assert(store.finish(row.id, row.fence, "queued")), id)
  end
  finish(assert(store.take_next(POOL)))
end)

t.test("several are taken at once, and given back with one that is cancelled", function()
  empty()
  local ids = {}
  for i = 1, 3 do ids[i] = assert(store.submit(spec())) end
  table.sort(ids)
  local taken = assert(store.take_several(POOL, 2))
  t.same({ #taken, taken[1].id, taken[2].id, taken[1].state }, { 2, ids[1], ids[2], "running" })
  for _, row in ipairs(taken) do t.equal(assert(store.finish(row.id, row.fence, "queued")), row.id) end
  local taker
  local first = fiber.spawn(function()
    assert(store.find(ids[1]))
    taker:cancel()
  end)
  taker = fiber.spawn(function() return store.take_several(POOL, 16) end)
  first:join()
  taker:join()
  local again = {}
  while #again < 3 do
    for _, row in ipairs(assert(store.take_several(POOL, 3 - #again))) do
      again[#again + 1] = row
      t.equal(row.attempts, nil, "no worker was lost with it")
    end
    fiber.sleep(0.001)
  end
  t.same(assert(store.take_several(POOL, 1)), {})
  for _, row in ipairs(again) do finish(row) end
  for _, most in ipairs { 0, 17, -1 } do t.ok(not pcall(store.take_several, POOL, most)) end
end)

t.test("an id that came from an export is an answer, too", function()
  local id = assert(store.submit(spec()))
  local row = assert(store.take_next(POOL))
  local bytes = assert(store.export(id))
  local _, err = store.import(bytes)
  t.equal(err.code, "exists")
  t.equal(assert(store.finish(row.id, row.fence, "queued")), id, "it is still ours")
  finish(assert(store.take_next(POOL)))
  t.equal(assert(store.import(bytes)), id)
  assert(store.remove(id))
  local asker = fiber.spawn(function() store.import(bytes) end)
  repeat fiber.sleep(0) until store.find(id)
  asker:cancel()
  t.equal(assert(store.find(id)).owner, nil, "nobody has it from the beginning")
  assert(store.remove(id))
end)

t.test("the beginning of an id is none, nor what looks like one", function()
  local id = assert(store.submit(spec()))
  finish(assert(store.take_next(POOL)))
  t.equal(store.is_id(id), true)
  for _, wrong in ipairs { id:sub(1, 25), id .. "0", id:lower(), id:sub(1, 25) .. "%", ("8"):rep(26), "", 12, {} } do t.equal(store.is_id(wrong), false) end
  t.equal(store.is_id(nil), false)
end)

return t.finish()

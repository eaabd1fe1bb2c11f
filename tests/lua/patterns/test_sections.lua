--- The shared document as its readers have it: slots, pages, and that a merge takes the place of nothing that its author was
--- not shown whole.
local t = require "harness"
local s = require "scripted"
local hocket = require "hocket"
local json = require "hocket.json"
local pages = require "hocket.patterns.facilitator.pages"
local reading = require "hocket.patterns.facilitator.reading"

local dimensions = { { "day", "integer" }, { "part", { "general", "morning", "evening" } } }
local morning = { day = 1, part = "morning" }
local ASKED = "is going to be taken out" -- stands in what asks for a summary

local function document_of(...)
  local doc = hocket.document(dimensions)
  for _, text in ipairs { ... } do assert(doc:append(morning, text:match "^%l+" or "w", text)) end
  return doc
end

-- A text with a word at its beginning, its middle and its end.
local function long(word, bytes)
  local half = ("x "):rep((bytes - 3 * #word - 20) // 4)
  return ("%s-begins %s%s-goes-on %s%s-ends"):format(word, half, word, half, word)
end

local function read(args) return s.call("read_document", args) end
local function merge(content, slot) return s.call("consolidate_section", { day = (slot or morning).day, part = (slot or morning).part, content = content }) end

-- Runs a facilitator whose model goes through the steps. Returns what its tools told, and the run.
local function lead(doc, steps, fields)
  local told = {}
  s.reply = function(request)
    if request.last.text:find(ASKED, 1, true) then return "summed up" end
    if request.last.role == "tool" then told[#told + 1] = request.last.text end
    local step = steps[#told + 1]
    if type(step) == "function" then step = step(request) end
    return step and { calls = step.name and { step } or step } or "done"
  end
  local team = {}
  hocket.agent { name = "w", description = "w", tools = { "specialist" }, prompt = "W", team = team }
  local def = { name = "lead", model = "scripted/lead", tools = { "facilitator" }, agents = { "w" }, team = team, prompt = "LEAD" }
  for name, value in pairs(fields or {}) do def[name] = value end
  local agent = hocket.agent(def)
  local run, reply, err = s.run(function() return hocket.run(agent, "Go", { document = doc }) end)
  t.equal(assert(reply, err and err.message).text, "done")
  return told, run
end

local function slot_of(doc)
  for _, slot in ipairs(doc:slots()) do
    if slot.slot.day == 1 and slot.slot.part == "morning" then return slot.entries end
  end
end

-- ---- Pages -----------------------------------------------------------------------------------------

t.test("what fits on a page is the document as it is rendered", function()
  local doc = document_of("food one\ntwo", "sights three")
  doc:append({ day = 0, part = "general" }, "food", "zero")
  local list = pages.of(doc, {}, 10000)
  t.equal(#list, 1)
  t.equal(list[1].text, doc:render { tagged = true })
  t.equal(#pages.of(hocket.document(dimensions), {}, 100), 0)
end)

t.test("pages have every byte of every entry, and no more than they may", function()
  local doc = document_of(long("food", 1000), long("sights", 300), "tiny", ("ü"):rep(700), ("line\n"):rep(200), long("food", 150))
  doc:append({ day = 2, part = "evening" }, "food", long("later", 900))
  for room = 200, 1200, 7 do
    local list, seen = pages.of(doc, {}, room), {}
    for _, page in ipairs(list) do
      t.ok(#page.text <= room, ("%d bytes where %d are allowed"):format(#page.text, room))
      t.ok(utf8.len(page.text), "a character is cut")
      for _, range in ipairs(page.ranges) do
        t.equal(range.from, (seen[range.version] or 0) + 1)
        t.ok(range.to >= range.from)
        seen[range.version] = range.to
        if range.to == range.of then seen[range.version] = "whole" end
      end
    end
    for version = 1, 7 do t.equal(seen[version], "whole") end
  end
end)

t.test("the only slot of a document is not asked for: tools do not declare it, and fill it in", function()
  local doc, declared = hocket.document { { "section", { "general" } }, { "day", "integer", { 1, 3 } } }, nil
  assert(doc:append({ section = "general", day = 2 }, "w", "a draft"))
  local told = lead(doc, {
    function(request)
      declared = request.tools
      return s.call("read_document", { day = 2 })
    end,
    s.call("consolidate_section", { day = 2, content = "whole" }),
    s.call("consolidate_section", { section = "other", day = 2, content = "x" }),
  })
  t.same(declared.read_document.parameters, json.decode [[{"type":"object","properties":{"day":{"type":"integer","minimum":1,"maximum":3,"description":"day, 0 for general"},"page":{"type":"integer"}}}]])
  t.same(declared.consolidate_section.parameters.required, { "day", "content" })
  t.equal(declared.consolidate_section.parameters.properties.section, nil)
  t.has(told[1], "a draft")
  t.has(told[2], "consolidated")
  t.has(told[3], "section")
  t.has(doc:render(), "whole")
  t.lacks(doc:render(), "a draft")
end)

t.test("a page says where it goes on, and of which slot it is", function()
  local doc = document_of(long("food", 1000))
  local list = pages.of(doc, {}, 500)
  t.has(list[1].text, "## Day 1 — Morning\n\n[food, part 1 of ")
  t.has(list[2].text, "## Day 1 — Morning (continued)\n\n[food, part 2 of ")
end)

-- ---- Reading ----------------------------------------------------------------------------------------

t.test("a slot is read alone, a part of one, and page by page", function()
  local doc = document_of("food in the morning")
  doc:append({ day = 1, part = "evening" }, "food", "food in the evening")
  doc:append({ day = 2, part = "morning" }, "food", "food on day two")
  local told = lead(doc, { read(morning), read { day = "1" }, read { day = 3, part = "morning" }, read { page = 2 }, read { page = "1" } })
  t.has(told[1], "in the morning")
  t.lacks(told[1], "in the evening")
  t.has(told[2], "in the evening")
  t.lacks(told[2], "day two")
  t.has(told[3], "(nothing is written there)")
  t.has(told[4], "there is only one page")
  t.has(told[5], "day two")
end)

t.test("pages are as long as the window has room for", function()
  local doc = document_of(long("food", 3000), long("sights", 3000))
  local told = lead(doc, { read(morning), read { day = 1, part = "morning", page = 2 }, read { page = 99 }, read() }, { context = { window = 8192 } })
  t.ok(#told[1] <= 8192 * 3 // 10)
  t.has(told[1], "; go on with page = 2]")
  t.lacks(told[1], "is kept as")
  t.matches(told[2], "%[page 2 of %d; go on with page = 3%]")
  t.matches(told[3], "there are only %d pages")
  t.has(told[4], "or name a slot, to read that alone]")
end)

t.test("a dimension may be called page", function()
  local doc = hocket.document { { "page", "integer" } }
  doc:append({ page = 2 }, "food", "on page two")
  local told = lead(doc, { read { page = 2, page_number = 1 }, read { page = 1 } })
  t.has(told[1], "on page two")
  t.has(told[2], "nothing is written there")
end)

-- ---- Merging ------------------------------------------------------------------------------------------

t.test("what was not shown stays beside the merged text, and it is said how to read it", function()
  local doc = document_of(long("food", 40000), long("sights", 40000), "logistics: a tram")
  local told = lead(doc, { read(), merge "FOOD" })
  t.has(told[1], "food-ends")
  t.lacks(told[1], "sights-ends")
  t.has(told[2], 'Beside it stands what you had not read: sights (version 2), logistics (version 3). Read this slot again, with read_document(day = 1, part = "morning")')
  t.same({ #slot_of(doc), slot_of(doc)[3].content }, { 3, "FOOD" })
  -- page by page it is all of it
  doc = document_of(long("food", 40000), long("sights", 40000), "logistics: a tram")
  told = lead(doc, { read(), read { page = 2 }, merge "ALL" })
  t.equal(told[3], "consolidated (version 4)")
  t.equal(#slot_of(doc), 1)
end)

t.test("an entry that was shown in part is not known", function()
  local doc = document_of(long("food", 6000))
  local how = { context = { window = 8192 } }
  local told = lead(doc, { read(), read { page = 2 }, merge "HALF" }, how)
  t.has(told[3], "error: nothing was merged: no entry of this slot stands whole")
  t.has(told[3], 'It has food (version 1). Read it with read_document(day = 1, part = "morning")')
  t.equal(doc:version(), 1)
  told = lead(doc, { read(), read { page = 3 }, read { page = 2 }, read { page = 4 }, merge "ALL" }, how)
  t.equal(told[5], "consolidated (version 2)")
  t.equal(slot_of(doc)[1].content, "ALL")
end)

t.test("only what stands in the conversation is known", function()
  local page = pages.of(document_of("food: fish"), {}, 1000)[1]
  local function known(...)
    local about, messages = reading.new(), { ... }
    about:show("c1", page, 1)
    about:send()
    return about:known { messages = function() return messages end }[1]
  end
  t.equal(known { role = "tool", id = "c1", text = "<document>\n" .. page.text .. "\n</document>" }, "read")
  t.equal(known { role = "tool", id = "c1", text = page.text:sub(1, -4) .. "[… 3 bytes are left out here]" }, nil)
  t.equal(known { role = "tool", id = "c2", text = page.text }, nil)
  t.equal(known { role = "user", text = page.text }, nil)
  local about = reading.new()
  about:show("c1", page, 1)
  t.ok(about:is_pending())
  t.equal(about:known({ messages = function() return { { role = "tool", id = "c1", text = page.text } } end })[1], nil)
  t.same(about:known(nil), {})
end)

-- Turns that fill a window of 8192 tokens.
local filler = hocket.tool { name = "filler", description = "Fills.", parameters = { type = "object" }, run = function(args) return args.n .. (" word"):rep(450) end }
local small = { context = { window = 8192 }, tools = { "facilitator", filler }, max_turns = 60 }

local function fill(steps, first, last)
  for i = first, last do steps[i] = s.call("filler", { n = i }) end
end

t.test("what a compaction has taken out is not known any more", function()
  local doc, steps = document_of(long("food", 400), long("sights", 400)), { read() }
  fill(steps, 2, 20)
  steps[21] = merge "BLIND"
  local told, run = lead(doc, steps, small)
  t.ok(#s.events(run, "compaction_finished") > 0)
  t.has(told[21], "error: nothing was merged")
  t.equal(doc:version(), 2)
  -- read again it goes
  steps[22], steps[23] = read(), merge "SEEN"
  told = lead(doc, steps, small)
  t.equal(told[23], "consolidated (version 3)")
end)

t.test("one's own merged text is known as long as its call is there", function()
  local doc = document_of("food: fish")
  local steps = { read(), merge "ONE", merge "TWO" }
  fill(steps, 4, 24)
  steps[25], steps[26], steps[27] = merge "THREE", read(), merge "FOUR"
  local told, run = lead(doc, steps, small)
  t.equal(told[3], "consolidated (version 3) in the place of your own text of version 2")
  t.ok(#s.events(run, "compaction_finished") > 0)
  t.has(told[25], "consolidated (version 4). Beside it stands what you had not read: lead (merged, version 3)")
  t.lacks(told[25], "CONFLICT")
  t.equal(told[27], "consolidated (version 5)")
  t.same({ #slot_of(doc), slot_of(doc)[1].content }, { 1, "FOUR" })
end)

t.test("what a script has read its model has not", function()
  local doc = document_of("food: fish")
  local told = lead(doc, { s.call("lua", { code = "return (tools.read_document {})" }), merge "BLIND" }, { tools = { "facilitator", "lua" } })
  t.has(told[2], "error: ")
  t.equal(doc:version(), 1)
end)

-- A model that merges what it sees: page by page, and anew as long as there is something beside.
local function careful(request)
  local seen, last = {}, request.last
  for _, message in ipairs(request.messages) do
    local texts = { message.name == "read_document" and message.text or "" }
    for _, call in ipairs(message.calls or {}) do texts[#texts + 1] = call.arguments.content end
    for word in table.concat(texts, " "):gmatch "FINDING%-(%d+)" do seen[tonumber(word)] = true end
  end
  if last.name == "consolidate_section" then return last.text:find "Beside it" and read(morning) or nil end
  if last.name ~= "read_document" then return read(morning) end
  local more = last.text:match "go on with page = (%d+)"
  local part, parts = last.text:match "part (%d+) of (%d+)%][^%[]*%[page"
  if more and part and part ~= parts then return read { day = 1, part = "morning", page = tonumber(more) } end
  local words = {}
  for i = 1, 100 do words[#words + 1] = seen[i] and "FINDING-" .. i or nil end
  return merge("MERGED " .. table.concat(words, " "))
end

t.test("a model with a small window consolidates a long document, and loses nothing", function()
  local doc = document_of()
  for i = 1, 8 do doc:append(morning, "w" .. i, ("FINDING-%d %sthe end"):format(i, ("word "):rep(1800))) end
  local turns = 0
  s.reply = function(request)
    if request.last.text:find(ASKED, 1, true) then return "summed up" end
    turns = turns + 1
    local step = careful(request)
    return step and { calls = { step } } or "done"
  end
  local team = {}
  hocket.agent { name = "w", description = "w", tools = { "specialist" }, prompt = "W", team = team }
  local agent = hocket.agent { name = "lead", model = "scripted/lead", tools = { "facilitator" }, agents = { "w" }, team = team, prompt = "LEAD", max_turns = 400, max_tool_calls = 400, context = { window = 8192 } }
  local run, reply, err = s.run(function() return hocket.run(agent, "Go", { document = doc }) end)
  t.equal(assert(reply, err and err.message).text, "done")
  t.ok(#s.events(run, "compaction_finished") > 0, "the window was never full")
  for i = 1, 8 do t.has(doc:render(), "FINDING-" .. i) end
  t.equal(#slot_of(doc), 1)
  t.ok(turns < 100, turns .. " turns")
end)

return t.finish()

-- Forty long pages, of which a window of 32,000 tokens holds a few at a time: a researcher reads them all, and cites them.
local hocket = require "hocket"

local PAGES, PARAGRAPHS = 40, 120
local topics = { "mills", "bridges", "markets", "schools" }

-- A page as such pages are: much text, and one fact in the middle of it.
local function page(n)
  local topic, lines = topics[n % #topics + 1], { ("Page %d of %d: of %s"):format(n, PAGES, topics[n % #topics + 1]) }
  for i = 1, PARAGRAPHS do
    lines[#lines + 1] = i == PARAGRAPHS // 2 and ("The first of the %s of parish %d was built in %d."):format(topic, n, 1600 + 7 * n)
      or ("Paragraph %d of the chronicle of parish %d speaks at length of weather, harvests, quarrels about fences, the price of salt, and of people whose names nobody knows any more; it is copied here for completeness, and says nothing of %s."):format(i, n, topic)
  end
  return table.concat(lines, "\n")
end

hocket.tool.set("open_page", function()
  return hocket.tool {
    name = "open_page", description = ("Open one of the %d pages."):format(PAGES), effects = { "fetch" }, taints = "web", sends_to = function() return true end,
    fence = { "page", "the archive" },
    parameters = { type = "object", required = { "number" }, properties = { number = { type = "integer", minimum = 1, maximum = PAGES } } },
    run = function(args) return page(args.number) end,
  }
end)

local team = hocket.agents((arg[0]:match "^(.*)/[^/]*$" or ".") .. "/agents")
local question = ... or "When was the first of each built, by parish?"
return assert(hocket.run(team.researcher, question))

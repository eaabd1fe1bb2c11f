-- A team writes a short report: an editor with a researcher, a critic and a writer. What differs from
-- the travel example is the agents' prompts and the document, which has sections here.
--
--   hocket run examples/report/report.lua "A short report on heat pumps in old houses"
--
-- The agents alone do it too, since their document stands in facilitator.md:
--
--   hocket run examples/report/agents "A short report on heat pumps in old houses"
local hocket = require "hocket"

local request = ...
if not request or request == "" then request = "A short report on heat pumps in old houses" end

local here = debug.getinfo(1, "S").source:match "^@(.*)/" or "."
local team = hocket.agents(here .. "/agents")

local doc = hocket.document { { "section", { "intro", "background", "findings", "risks", "summary" } } }

local reply, err = hocket.run(team.facilitator, request, { document = doc })
if not reply then return nil, err end

-- How it came about, from the document's history.
local changes, authors = {}, {}
for _, version in ipairs(doc:history()) do
  if not changes[version.author] then authors[#authors + 1] = version.author end
  changes[version.author] = (changes[version.author] or 0) + 1
end
for i, author in ipairs(authors) do authors[i] = ("%s %d"):format(author, changes[author]) end

return ("%s\n---\n%d changes: %s\n"):format(reply.text, doc:version(), table.concat(authors, ", "))

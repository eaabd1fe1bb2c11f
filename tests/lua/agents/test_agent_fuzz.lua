-- Agents' files that are broken in every way: never a crash, always a definition or an error with a place in the
-- file. `HOCKET_FUZZ_SEED` and `HOCKET_FUZZ_ROUNDS` choose others than the usual ones.
local t = require "harness"
local agent = require "hocket.agent"
local json = require "hocket.json"
local prompt = require "hocket.internal.agents.prompt"
local system = require "hocket.internal.core.system"
require "hocket.internal.runner.builtins"

local seed = math.tointeger(tonumber(system.getenv "HOCKET_FUZZ_SEED")) or 20240917
local rounds = math.tointeger(tonumber(system.getenv "HOCKET_FUZZ_ROUNDS")) or 6000

local good = [[
#!/usr/bin/env -S hocket run
---
name: lead
description: "Leads: all of it"
model: [openai/gpt-6.1-terra, sim]
temperature: 0.5
stop: [END]
reasoning: low
tools: [specialist]
agents: [food, sights]
advisors:
  agents: [a, b]
  required: [a]
  quorum: 1
team: {members: [x, y], terminationMode: maxRounds, maxRounds: 3}
budget: {turns: 3, cost: 0.5}
approve: {ask: [write_file], deny: ['execute_command(rm *)']}
variables: {city: Porto, days: 3}
input: {type: object, properties: {x: {type: string}}}
document: [{day: integer}, {part: [morning, evening]}]
---
You lead {{city}}, {{tool_descriptions}}.
---
Not front matter.
]]

-- What texts of this kind break on.
local pieces = {
  "---\n", "\n---", "---", ":", ": ", "- ", "[", "]", "{", "}", ",", "'", '"', "|", ">", "&a ", "*a", "!!str ", "<<: ", "? ", "#", "%", "@", "`",
  "\t", "\r", "\r\n", "\n", "\n\n", "  ", "\0", "\255", "\192\128", "\237\160\128", "\239\187\191", "\226\128\168", "~", "null", "true", "no", "0x10",
  "1e999", "-0", "99999999999999999999", ".nan", "{{", "}}", "{{include x}}", "{{city", "\\{{", "name: ", "name: a\n", "tools:\n", "é", "日本",
  ("["):rep(40), ("{a: "):rep(40), ("x"):rep(5000), ("- "):rep(50), "...\n", "%YAML 1.2\n", "? [a]\n: b\n",
}

local function mutate(text)
  for _ = 1, math.random(1, 4) do
    local at, what = math.random(0, #text), math.random(6)
    if what == 1 then
      text = text:sub(1, at) .. pieces[math.random(#pieces)] .. text:sub(at + 1)
    elseif what == 2 then
      text = text:sub(1, at) .. text:sub(at + 1 + math.random(1, 20))
    elseif what == 3 then
      text = text:sub(1, at) .. string.char(math.random(0, 255)) .. text:sub(at + 2)
    elseif what == 4 then
      local from = math.random(1, #text + 1)
      text = text:sub(1, at) .. text:sub(from, from + math.random(1, 60)) .. text:sub(at + 1)
    elseif what == 5 then
      text = text:sub(1, at)
    else
      text = text:sub(1, at) .. pieces[math.random(#pieces)] .. text:sub(at + 1 + math.random(0, 10))
    end
  end
  return text
end

-- The number of lines, and of characters (or bytes, where there are none) of a line.
local function extent(text, line)
  local lines, wanted = 0, ""
  for one in (text .. "\n"):gmatch "([^\n]*)\n" do
    lines = lines + 1
    if lines == line then wanted = one end
  end
  return lines, #wanted
end

local function check_problem(text, p, shown)
  t.equal(p.file, "x.md", shown)
  t.ok(type(p.message) == "string" and #p.message > 3, shown)
  t.ok(utf8.len(p.message), "a message that is no text: " .. shown)
  t.ok(p.code and (p.severity == "error" or p.severity == "warning"), shown)
  t.ok(math.type(p.line) == "integer" and math.type(p.column) == "integer", shown)
  local lines, width = extent(text, p.line)
  t.ok(p.line >= 1 and p.line <= lines + 1, ("line %d of %d: %s"):format(p.line, lines, shown))
  t.ok(p.column >= 1 and p.column <= width + 2, ("column %d of %d: %s"):format(p.column, width, shown))
end

-- What a definition promises to those who use it, whatever it was read from.
local function check_definition(def, shown)
  t.ok(def.name:find "^[%a_][%w_-]*$" and #def.name <= 59, shown)
  for _, name in ipairs { "description", "display_name", "prompt" } do t.equal(type(def[name]), "string", shown) end
  for _, name in ipairs { "tools", "agents", "wanted", "variables" } do t.equal(type(def[name]), "table", shown) end
  for _, edge in ipairs(agent.edges(def)) do t.equal(type(edge.to), "string", shown) end
  t.ok(json.encode(def), shown) -- plain data
  prompt.fill(def.prompt, def.variables)
end

local counts = { well = 0, broken = 0 }

local function try(text)
  local shown = ("%q"):format(text)
  local ok, def, problems = pcall(agent.parse, text, "x.md")
  t.ok(ok, ("raised %s: %s"):format(tostring(def), shown))
  for _, p in ipairs(problems) do check_problem(text, p, shown) end
  if def then
    counts.well = counts.well + 1
    check_definition(def, shown)
  else
    counts.broken = counts.broken + 1
    t.ok(#problems > 0, "nothing said: " .. shown)
  end
end

t.test("the file itself is well", function()
  local def, problems = agent.parse(good, "x.md")
  t.ok(def, agent.explain(problems))
end)

t.test("random changes", function()
  math.randomseed(seed)
  for _ = 1, rounds do try(mutate(good)) end
  -- Neither always broken nor always well: the changes reach behind the first check.
  t.ok(counts.well > rounds / 50 and counts.broken > rounds / 50, ("%d well, %d broken"):format(counts.well, counts.broken))
end)

t.test("cut off at every byte", function()
  for i = 0, #good do try(good:sub(1, i)) end
end)

t.test("every byte at every place of a small file", function()
  local small = "---\nname: a\nstop: [b]\n---\nB\n"
  for i = 1, #small do
    for byte = 0, 255 do try(small:sub(1, i - 1) .. string.char(byte) .. small:sub(i + 1)) end
  end
end)

return t.finish()

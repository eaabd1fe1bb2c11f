--- Who may say yes: operator, run and agent against each other, and what one yes is made to cover.
local attack = require "attack"
local core = require "hocket.internal.core.permission"
local sanitize = require "hocket.internal.base.sanitize"
local standing = require "hocket.internal.run.standing_approvals"

local class = attack.class("approvals", true)

-- ---- Words against each other --------------------------------------------------------------------

local WRITE, RUN, WEB = 2, 4, 1
local words = { "", "allow", "ask", "deny" }

local function layer(kind, mode, rule)
  return { kind, kind, mode, rule ~= "" and { { rule, "tool", "", false } } or {} }
end

local function decide(layers, effects, labels)
  return (core.new(layers, {}, {}):decide("a", "tool", "", {}, effects, labels, false))
end

-- What one of two people says of a call: the rule, else the mode.
local function says(mode, rule)
  return rule ~= "" and rule or mode
end

local function is_yes(one, other)
  return (one == "allow" or other == "allow") and (one == "allow" or one == "") and (other == "allow" or other == "")
end

for _, operator in ipairs(words) do
  for _, run in ipairs(words) do
    for _, rule in ipairs(words) do
      for _, effects in ipairs { WRITE, RUN } do
        local name = ("operator %s, run %s with a rule %s, effects %d"):format(operator, run, rule, effects)
        class:try(name, function()
          local layers = { layer("operator", operator, ""), layer("run", run, rule), { "agent", "agent", "", { { "allow", "tool", "", false } } } }
          local verdict = decide(layers, effects, 0)
          local yes = is_yes(operator, says(run, rule))
          if verdict == "allow" and not yes then return "it was allowed" end
          if (rule == "deny" or not yes and (operator == "deny" or run == "deny")) and verdict ~= "deny" then return "it was not denied but " .. verdict end
          if decide(layers, RUN, WEB) == "allow" and not (yes and rule == "allow" and operator == "") then return "a stranger's words ran a program" end
        end)
      end
    end
  end
end

-- ---- What a yes covers ---------------------------------------------------------------------------

local write = { places = { path = true }, subject = "path" }
local fetch = { sends_to = function(args) return args.url end, subject = "url" }
local seen = {
  { agent = "a", tool = "write_file", of = write, labels = 8, arguments = { path = "docs/x.md", content = "1" } },
  { agent = "a", tool = "execute_command", of = { subject = "command" }, labels = 8, arguments = { command = "make test" } },
  { agent = "a", tool = "web_fetch", of = fetch, labels = 8, arguments = { url = "https://a.example/x" } },
  { agent = "a", tool = "pay", labels = 8, arguments = { to = "ann", sum = 1 } },
}
local others = {
  { { arguments = { path = "Makefile", content = "1" } }, { arguments = { path = "docs2/x.md", content = "1" } }, { arguments = { path = "docs", content = "1" } } },
  { { arguments = { command = "make test; id" } }, { arguments = { command = "make test", directory = "x" } }, { arguments = {} } },
  { { arguments = { url = "https://b.example/x" } }, { arguments = { url = "https://a.example.b.example/" } }, { arguments = { url = "https://a.example:8443/" } },
    { arguments = { url = "http://b.example/?https://a.example/" } } },
  { { arguments = { to = "eve", sum = 1 } }, { arguments = { to = "ann", sum = 1000 } }, { arguments = { to = "ann", sum = 1, more = true } } },
}
local everywhere = { { agent = "b" }, { tool = "other" }, { labels = 9 }, { labels = 10 }, { labels = 12 } }

for i, one in ipairs(seen) do
  for _, list in ipairs { others[i], everywhere } do
    for j, other in ipairs(list) do
      class:try(("always to %s, then another (%d)"):format(one.tool, j), function()
        if standing.covers(standing.of(one), setmetatable(other, { __index = one })) then return "it was covered" end
      end)
    end
  end
end

-- ---- What is not seen ------------------------------------------------------------------------------

local unseen = {
  "\u{A0}", "\u{1680}", "\u{2000}", "\u{2007}", "\u{200B}", "\u{200E}", "\u{202E}", "\u{202F}", "\u{205F}", "\u{2060}", "\u{2066}", "\u{2800}", "\u{3000}",
  "\u{3164}", "\u{115F}", "\u{FFA0}", "\u{FEFF}", "\u{AD}", "\u{34F}", "\u{FE0F}", "\u{E0041}", "\u{180E}", "\u{85}", "\u{9B}", "\u{7F}", "\u{2028}",
  "\u{2044}", "\u{2215}", "\u{FF0F}", "\u{37E}", "\u{FF1B}", "\u{2212}", "\u{2010}", "\u{2024}", "\u{1D42B}", "\u{430}", "\u{3BF}", "\u{455}", "\u{578}", "\u{E000}",
}
for _, char in ipairs(unseen) do
  class:try(("U+%04X in an argument"):format(utf8.codepoint(char)), function()
    if sanitize.encode({ command = "rm x" .. char .. "y" }):find(char, 1, true) then return "it is shown as it is" end
  end)
end

return class:finish()

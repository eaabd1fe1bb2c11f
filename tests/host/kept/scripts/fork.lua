-- Agents, a tool, a step, a question and a message. Its input: a file of what is done to the world, and what differs.
local hocket = require "hocket"
local path, what = (...):match "^(%S+) (.*)$"
local function note(text)
  local file <close> = assert(io.open(path, "a"))
  file:write(text, "\n")
end

local post = hocket.tool {
  name = "post", description = "Posts a letter.",
  parameters = { type = "object", required = { "to" }, properties = { to = { type = "string" } } },
  run = function(args)
    note("post " .. args.to)
    return "posted to " .. args.to
  end,
}
local writer = hocket.agent { name = "writer", prompt = "You write." .. (what:find "prompt" and " Shortly." or "") }
local poster = hocket.agent { name = "poster", prompt = "You post.", tools = { post } }

local texts = hocket.flow.map({ "one", "two" }, function(word) return assert(hocket.run(writer, "say " .. word)).text end)
local posted = assert(hocket.run(poster, 'call post {"to": "a"}\ncall post {"to": "' .. (what:find "tool" and "c" or "b") .. '"}\nsay posted')).text
local stamp = hocket.step("stamp", function()
  note "stamp"
  return { kind = "stamp" }
end)
local towns = what:find "list" and { "Porto", "Rome" } or { "Lisbon", "Porto", "Rome" }
local weather = {}
for i, town in ipairs(towns) do
  weather[i] = hocket.step("weather", function()
    note("weather " .. town)
    return town:sub(1, 1)
  end, { of = town })
end
local answer = assert(hocket.ask(what:find "question" and "Which other city?" or "Which city?"))
local message = assert(hocket.signal "go")
local failed, err = hocket.run(writer, "fail " .. what)
return table.concat({ texts[1], texts[2], posted, stamp.kind, table.concat(weather), answer, message, failed and failed.text or err.code }, ", ")

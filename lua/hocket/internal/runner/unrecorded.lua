--- What a script reaches past the log of a run that is kept: by Lua's own functions for files, programs and the environment. A
--- replay calls them again. Within a tool, or a step, they are fine, as they are part of its effect.
---
---     local f = io.open "plan.txt"                       told
---     hocket.step("read", function() return io.open … )   not told: inside of a step
---
--- It looks at the text alone: which function calls which is not known.
local problem = require "hocket.internal.agents.problem"

local instead = {
  ["io.open"] = "hocket.fs.read", ["io.lines"] = "hocket.fs.read", ["io.read"] = "hocket.ask", ["io.popen"] = "hocket.process.run",
  ["os.execute"] = "hocket.process.run", ["os.remove"] = "hocket.step", ["os.rename"] = "hocket.step", ["os.tmpname"] = "hocket.step",
  ["os.getenv"] = "variables of the run (--set)",
}

local effects = { step = true, tool = true }

-- The place behind a comment or a text that begins at `at`; nil: none does.
local function skip(text, at)
  local dashes = text:match("^%-%-", at) and 2 or 0
  local level = text:match("^%[(=*)%[", at + dashes)
  if level then
    local _, stop = text:find("]" .. level .. "]", at + dashes, true)
    return (stop or #text) + 1
  end
  if dashes > 0 then return (text:find("\n", at, true) or #text) + 1 end
  local quote = text:match("^[\"']", at)
  if not quote then return nil end
  local stop = at + 1
  while stop <= #text do
    local byte = text:sub(stop, stop)
    if byte == quote or byte == "\n" then break end
    stop = stop + (byte == "\\" and 2 or 1)
  end
  return stop + 1
end

-- Calls fn(chain, at, safe) for each name like a.b.c.
local function each_name(text, fn)
  local at, last, safe = 1, "", { false }
  while at <= #text do
    local behind = skip(text, at)
    local chain = not behind and text:match("^[%a_][%w_]*[%w_.]*", at)
    local mark = text:sub(at, at)
    if chain then
      fn(chain, at, safe[#safe])
      last, behind = chain:match "[%w_]*$", at + #chain
    elseif mark == "(" or mark == "{" then
      safe[#safe + 1] = safe[#safe] or effects[last] == true
      last = ""
    elseif (mark == ")" or mark == "}") and #safe > 1 then
      safe[#safe] = nil
    end
    if text:find("^%.%.", at) then
      behind = at + 2
    elseif mark:find "[.:]" then
      behind = text:match("^[.:]+%s*[%a_]?[%w_]*()", at) -- a field of what is no name
    end
    at = behind or at + 1
  end
end

--- The warnings about a script.
---@param path string
---@param text string
---@return hocket.Problem[]
return function(path, text)
  local list, line, counted = {}, 1, 1
  each_name(text, function(chain, at, safe)
    if safe or not instead[chain] then return end
    line = line + select(2, text:sub(counted, at - 1):gsub("\n", ""))
    counted = at
    local one = problem.new(path, line, 1, "unrecorded",
      ("%s is not recorded: a run that goes on in another process calls it again. Outside of tools and hocket.step use %s"):format(chain, instead[chain]))
    one.severity = "warning"
    list[#list + 1] = one
  end)
  return list
end

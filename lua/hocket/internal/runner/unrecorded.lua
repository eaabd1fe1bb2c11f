--- What a script reaches past the log of a run that is kept: by Lua's own functions for files, programs and the environment. A
--- replay calls them again. Within a tool, or a step, they are fine, as they are part of its effect. And which of its requests
--- change something and say nothing of being made twice.
---
---     local f = io.open "plan.txt"                       told
---     hocket.step("read", function() return io.open … )   not told: inside of a step
---     hocket.http.request { url = u, method = "POST" }    told: it is not made again where nobody knows whether it was
---
--- It looks at the text alone: which function calls which is not known.
local lua_text = require "hocket.internal.base.script.lua_text"
local script_effects = require "hocket.internal.base.script.effects"
local problem = require "hocket.internal.agents.problem"

local instead = {
  ["io.open"] = "hocket.fs.read", ["io.lines"] = "hocket.fs.read", ["io.read"] = "hocket.ask", ["io.popen"] = "hocket.process.run",
  ["os.execute"] = "hocket.process.run", ["os.remove"] = "hocket.step", ["os.rename"] = "hocket.step", ["os.tmpname"] = "hocket.step",
  ["os.getenv"] = "variables of the run (--set)",
}

local effects = { step = true, tool = true }

-- Calls fn(chain, at, safe) for each name like a.b.c.
local function each_name(text, fn)
  local at, last, safe = 1, "", { false }
  while at <= #text do
    local behind = lua_text.skip(text, at)
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

-- ---- Requests ----------------------------------------------------------------------------------------

local function is_request(chain)
  return chain == "http.request" or chain:find "%.http%.request$" ~= nil
end

-- The fields of the table that a call is given, by name: a text that stands there, or true. nil: it is given something else.
local function fields_of(text, at)
  at = text:match("^%s*%(?%s*{()", at)
  local fields, depth = {}, 1
  while at and at <= #text and depth > 0 do
    local behind, mark = lua_text.skip(text, at), text:sub(at, at)
    local name, value = text:match("^([%a_][%w_]*)%s*=%s*()[^=]", at)
    if name and depth == 1 then fields[name] = text:match("^[\"'](%a+)[\"']", value) or true end
    if not behind and mark:find "[({%[]" then depth = depth + 1 end
    if not behind and mark:find "[)}%]]" then depth = depth - 1 end
    at = behind or text:match("^[%a_][%w_]*()", at) or at + 1
  end
  return at and fields
end

-- What is to be said of a request that a life which was cut off does not make again; nil: nothing.
local function about_request(text, at)
  local fields = fields_of(text, at)
  local method = fields and not fields.idempotent and (fields.method or fields.body and "POST")
  if not method or method == true and not fields.body or script_effects.asks(method) then return nil end
  return ("this %srequest is not made again where the process ended in the middle of it: write idempotent = true beside its url where twice does no harm, or make it in hocket.step, whose function is given a key")
    :format(method == true and "" or method .. " ")
end

-- ---- What is reported ----------------------------------------------------------------------------------

local function about(text, chain, at)
  if is_request(chain) then
    local said = about_request(text, at + #chain)
    return said and "request", said
  end
  if not instead[chain] then return nil end
  return "unrecorded", ("%s is not recorded: a run that goes on in another process calls it again. Outside of tools and hocket.step use %s")
    :format(chain, instead[chain])
end

--- The warnings about a script.
---@param path string
---@param text string
---@return hocket.Problem[]
return function(path, text)
  local list, line, counted = {}, 1, 1
  each_name(text, function(chain, at, safe)
    if safe then return end
    local code, said = about(text, chain, at)
    if not code then return end
    line = line + select(2, text:sub(counted, at - 1):gsub("\n", ""))
    counted = at
    local one = problem.new(path, line, 1, code, said)
    one.severity = "warning"
    list[#list + 1] = one
  end)
  return list
end

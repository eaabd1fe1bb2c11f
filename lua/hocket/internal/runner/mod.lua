--- Mods: targets from strangers, run with the option `mod`. Their scripts see a restricted Lua and a small part
--- of hocket; their agents have the tools that the program names, and no others.
---
---     {"mod": {"tools": ["look_around"], "seconds": 0.1}}
---
--- What a mod holds of hocket are handles: plain values, and functions that call ours. Nothing of hocket's own
--- tables is handed out, so that nothing can be changed for others.
local agents = require "hocket.agent"
local boards = require "hocket.board"
local compile_text = require "hocket.internal.base.script.compile"
local documents = require "hocket.document"
local flow = require "hocket.flow"
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local restricted = require "hocket.internal.runner.restricted"
local runner = require "hocket.internal.runner.run_agent"
local script = require "hocket.internal.base.script"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"
local tool = require "hocket.tool"

local mod = {}

--- Seconds that a script may take between two waits, when the program does not say.
local SECONDS = 0.5
--- Bytes that it may take between two waits.
local MEMORY = 64 << 20
--- Functions of a mod that run side by side.
local FIBERS = 1000
--- Of a value that crosses: tables inside of each other, members and bytes of texts in all.
local DEPTH, MEMBERS, BYTES = 16, 100000, 16 << 20

--- Reads the option.
---@param option any
---@return {tools: table<string, boolean>, seconds: number, memory: integer}? limits
---@return hocket.Error?
function mod.read(option)
  local function wrong(what) return nil, { code = "invalid", message = ("bad option 'mod' (%s)"):format(what) } end
  if option == true then option = {} end
  if type(option) ~= "table" then return wrong "true, or an object with 'tools', 'seconds' and 'memory' expected" end
  local limits = { tools = {}, seconds = option.seconds or SECONDS, memory = option.memory or MEMORY }
  for name in pairs(option) do
    if name ~= "tools" and name ~= "seconds" and name ~= "memory" then return wrong(("unknown member '%s'"):format(tostring(name))) end
  end
  if type(limits.seconds) ~= "number" or not (limits.seconds > 0) then return wrong "'seconds' has to be a number above 0" end
  if math.type(limits.memory) ~= "integer" or limits.memory < 1 << 16 then return wrong "'memory' has to be a whole number of bytes, 65536 or more" end
  if option.tools ~= nil and type(option.tools) ~= "table" then return wrong "'tools' has to be a list of names" end
  for _, name in ipairs(option.tools or {}) do
    if type(name) ~= "string" then return wrong "'tools' has to be a list of names" end
    limits.tools[name] = true
  end
  return limits
end

-- ---- Values that cross -------------------------------------------------------------------------

local function too_large()
  error(("a value of a mod has at most %d members and %d MiB of texts"):format(MEMBERS, BYTES >> 20), 0)
end

-- Plain data, without what could be called or changed for others. What is in it several times counts as often: of sixteen
-- tables, each eight times in the next, a copy would have no end.
local function copied(value, depth, left)
  local kind = type(value)
  if kind == "string" then
    left.bytes = left.bytes - #value
    if left.bytes < 0 then too_large() end
    return value
  end
  if kind == "number" or kind == "boolean" then return value end
  if value == json.null or kind ~= "table" or depth > DEPTH then return nil end
  local copy = {}
  for key, inner in next, value do
    left.members = left.members - 1
    if left.members < 0 then too_large() end
    if type(key) == "string" or type(key) == "number" then copy[key] = copied(inner, depth + 1, left) end
  end
  return copy
end

local function plain(value)
  return copied(value, 0, { members = MEMBERS, bytes = BYTES })
end

-- A table's own fields: its metamethods are the mod's, and would run where nothing ends them.
local function fields(value)
  local copy, n = {}, 0
  if type(value) == "table" then
    for key, inner in next, value do
      copy[key], n = inner, n + 1
      if n > MEMBERS then too_large() end
    end
  end
  return copy
end

local function own_error(err)
  if type(err) ~= "table" then return type(err) == "string" and err or nil end
  local own = fields(err)
  return { code = plain(own.code), message = plain(own.message) }
end

local Mod = {}
Mod.__index = Mod

-- A function of the mod's that we call: by a model's tool call, in a fiber of its own.
local function inward(self, fn)
  return function(...) return self.inside:call(fn, ...) end
end

-- A function of ours that the mod calls.
local function outward(self, fn)
  return function(...) return self.inside:leave(fn, ...) end
end

-- ---- Agents ---------------------------------------------------------------------------------------

-- A path of the mod's own, as a path of ours.
local function own_path(self, path)
  if type(path) ~= "string" or path == "" then error("a path in the mod's own folder expected", 0) end
  if fs.is_absolute(path) or path:find "\0" or ("/" .. path .. "/"):find "/%.%./" then
    error(("'%s' leads out of the mod's folder"):format(path), 0)
  end
  local full = self.dir .. "/" .. path
  local real, home = sources.real(full) or fs.real(full), sources.real(self.dir) or fs.real(self.dir)
  if home and real and not system.below(real, home) then
    error(("'%s' leads out of the mod's folder"):format(path), 0)
  end
  return full
end

local function handle(self, def)
  if not def then error("there is no such agent", 0) end
  local one = setmetatable({}, { __metatable = false, __index = { name = def.name, description = def.description, display_name = def.display_name } })
  self.defs[one] = def
  return one
end

local function load_team(self, dir)
  local team = {}
  for name, def in pairs(agents.load_dir(own_path(self, dir))) do team[name] = handle(self, def) end
  return setmetatable(team, { __metatable = false, __index = function(_, name) error("there is no agent '" .. tostring(name) .. "'", 2) end })
end

-- Tools that are functions of the mod's own get their arguments and nothing else.
local function own_tool(self, what)
  what = fields(what)
  local run = what.run
  if type(run) ~= "function" then error("a tool needs a function 'run'", 0) end
  return tool.new { name = plain(what.name), description = plain(what.description), parameters = plain(what.parameters), effects = {},
    run = function(args) return plain(self.inside:call(run, plain(args))) end }
end

local function load_agent(self, what)
  if type(what) ~= "table" then return handle(self, agents.load(own_path(self, what))) end
  local def = plain(what)
  def.tools = {}
  for i, one in ipairs(fields(fields(what).tools)) do
    def.tools[i] = type(one) == "table" and own_tool(self, one) or plain(one)
  end
  return handle(self, agents.load(def))
end

-- ---- The interface -----------------------------------------------------------------------------------

local function run_agent(self, one, input, options)
  local def = self.defs[one]
  if not def then error("bad argument #1 to 'run' (an agent expected)", 0) end
  options = fields(options)
  local passed = { variables = plain(options.variables), timeout = plain(options.timeout), board = options.board, document = options.document }
  if type(options.on_delta) == "function" then passed.on_delta = inward(self, options.on_delta) end
  local reply, err = runner.run(def, input, passed)
  if not reply then return nil, own_error(err) end
  return plain { text = reply.text, finish = reply.finish, agent = reply.agent, usage = reply.usage, value = reply.value }
end

local function each(self, list)
  local out = {}
  for i, fn in ipairs(fields(list)) do out[i] = inward(self, fn) end
  return out
end

-- Functions that run side by side. Each may begin others: a tree of them would have no end.
local function several(self, n)
  if self.open + n > FIBERS then error(("a mod has at most %d functions under way at once"):format(FIBERS), 0) end
  self.open = self.open + n
  return setmetatable({}, { __close = function() self.open = self.open - n end })
end

local function at_once(self, fn, list, ...)
  list = each(self, list)
  local open <close> = several(self, #list)
  local result = table.pack(fn(list, ...))
  return table.unpack(result, 1, result.n)
end

local function interface(self)
  local function out(fn) return outward(self, fn) end
  return {
    agents = out(function(dir) return load_team(self, dir) end),
    agent = out(function(what) return load_agent(self, what) end),
    run = out(function(...) return run_agent(self, ...) end),
    board = out(function(options) return boards.new and boards.new(plain(options)) or boards(plain(options)) end),
    document = out(function(options) return documents.new and documents.new(plain(options)) or documents(plain(options)) end),
    json = { encode = out(function(value) return json.encode(plain(value)) end), decode = out(function(text) return plain(json.decode(text)) end) },
    flow = {
      sleep = out(flow.sleep), now = out(flow.now),
      map = out(function(list, fn, options)
        list = fields(list)
        local open <close> = several(self, #list)
        return flow.map(list, inward(self, fn), plain(options))
      end),
      all = out(function(list, options) return at_once(self, flow.all, list, plain(options)) end),
      any = out(function(list) return at_once(self, flow.any, list) end),
      race = out(function(list) return at_once(self, flow.race, list) end),
    },
  }
end

local function compile(text, path, env)
  local admitted, refused = script.may_run(path, text)
  if not admitted then return nil, refused end
  return compile_text(text, path, env)
end

local function own_require(self)
  local known = self.interface
  local loaded = { hocket = known, ["hocket.json"] = known.json, ["hocket.flow"] = known.flow }
  return function(name)
    if loaded[name] ~= nil then return loaded[name] end
    if type(name) ~= "string" then error("bad argument #1 to 'require' (string expected)", 2) end
    local chunk, wrong = self.inside:leave(function()
      local path = own_path(self, name:gsub("%.", "/") .. ".lua")
      local text = sources.read(path, 1 << 20)
      if not text then return nil, ("module '%s' is not there for mods: no file %s"):format(name, path) end
      return compile(text, path, self.inside.env)
    end)
    if not chunk then error(wrong, 2) end
    loaded[name] = true
    local value = chunk(name)
    if value ~= nil then loaded[name] = value end
    return loaded[name]
  end
end

--- Runs a target's script as a mod's. Returns what it returns.
---@async
---@param target {path: string, dir: string}
---@param limits {seconds: number}
---@param print function
---@param input? string
---@return any ...
function mod.script(target, limits, print, input)
  local text, err = sources.read(target.path, 1 << 20)
  if not text then return nil, err end
  local self = setmetatable({ open = 0, dir = target.dir, defs = setmetatable({}, { __mode = "k" }), inside = restricted.new(limits.seconds, limits.memory) }, Mod)
  self.interface = interface(self)
  local env = self.inside.env
  env.require, env.arg = own_require(self), { [0] = target.path, input }
  function env.print(...)
    local parts = table.pack(...)
    for i = 1, parts.n do parts[i] = tostring(parts[i]) end -- by the mod's metamethods, within its time
    self.inside:leave(print, table.unpack(parts, 1, parts.n))
  end
  if not target.path:find "%.lua$" then
    return nil, { code = "denied", message = ("%s: the scripts of a mod are Lua: what makes Lua of another language would run outside of its bounds"):format(target.path) }
  end
  local chunk, wrong = compile(text, target.path, env)
  if not chunk then return nil, { code = "agent", message = wrong } end
  local function guarded(value)
    if type(value) == "function" then return inward(self, value) end
    if type(value) ~= "table" then return value end
    local copy = plain(value)
    copy.chat = type(rawget(value, "chat")) == "function" and inward(self, rawget(value, "chat")) or nil
    return copy
  end
  local value, failed = self.inside:call(chunk, input)
  return guarded(value), own_error(failed)
end

return mod

--- The tools of all MCP servers that an agent names. Where a server changes them while the agent is at work it has the new ones from
--- the next turn on, and learns of the ones that are gone when it calls them.
---
--- What a server offers is in the log of a run that is kept: a replay needs no server, and goes by what there was.
local canonical = require "hocket.internal.base.canonical"
local at_key = require "hocket.internal.base.lazy" "hocket.internal.agents.at_key"
local defs = require "hocket.internal.agents.mcp_servers"
local effects = require "hocket.internal.base.effects"
local glob = require("hocket.internal.core.permission").glob
local json = require "hocket.json"
local offers = require "hocket.internal.mcp.offers"
local remembered = require "hocket.internal.mcp.remembered_tools"
local runs = require "hocket.internal.run.run"
local search = require "hocket.internal.mcp.tool_search"
local server_tool = require "hocket.internal.mcp.server_tool"
local servers = require "hocket.internal.mcp.servers"

local toolset = {}

--- Tools of one server from which on they are looked for, and not shown.
local MANY = 40

-- Whether a server's program may be started, or its address asked: the runner says so.
local admit = function() return true end

--- Hands in who decides. quietly: nobody can be asked.
---@param fn fun(run: hocket.Run, def: hocket.McpServer, quietly?: boolean): true?, hocket.Error?
function toolset.set_admission(fn)
  admit = fn
end

-- A server that the run was started with: it may be another's, or none, by now.
local function is_of_run(run, def)
  for _, one in ipairs(run.options.mcp or {}) do
    if json.encode(one) == json.encode(def.source) then return true end
  end
  return nil, { code = "denied", message = ("the MCP server '%s' was given to the run by somebody else: whoever continues it has not"):format(def.name) }
end

-- Where other options hold for the run since it was admitted, it has to be so again.
local function check_again(def)
  local run = runs.current()
  local cuts = run and run.cuts or 0
  if not run or not def.source or cuts == def.cuts then return true end
  local ok, err
  if def.of_run then ok, err = is_of_run(run, def) else ok, err = admit(run, def.source, true) end
  if ok then def.cuts = cuts end
  return ok, err
end

servers.check = check_again

-- What is put together for one agent.
---@class hocket.McpGathering
---@field all hocket.Tool[] That it is shown.
---@field later hocket.Tool[] That it can find.
---@field servers {def: hocket.McpServer, state: string}[] The ones that tell of changes.
---@field allowed? table<string, boolean> What its callers grant.
---@field again boolean What is left out was reported before.
---@field warn fun(message: string)

-- ---- What a server offers ------------------------------------------------------------------

-- A description that has changed since it was last used may be there to mislead.
local function changed_since(def, entry, list)
  if entry.compared == entry.state then return {} end
  entry.compared = entry.state
  return remembered.compare(servers.key(def), list)
end

local function look(def)
  local entry, err = servers.get(def)
  if not entry then return nil, err end
  local state, client = entry.state, entry.client
  local list, failed = client:tools()
  if not list then return nil, failed end
  entry.answered = true
  local can = client.offers
  return {
    state = state, tools = list, dropped = client.dropped, changed = changed_since(def, entry, list), resources = can.resources ~= nil,
    prompts = can.prompts ~= nil, tells = type(can.tools) == "table" and can.tools.listChanged == true,
  }
end

-- As it is written, without what variables hold: those are other ones tomorrow, and elsewhere.
local function asked(def)
  return { server = def.name, at = effects.asked(def.command or def.url or "", def.args or {}) }
end

local function offer_of(def)
  if not effects.here() then return look(def) end
  local offer
  local text, err = effects.run("mcp_tools", asked(def), function()
    local why
    offer, why = look(def)
    return offer and json.encode(offer), why
  end, { reads = true })
  return text and (offer or json.decode(text, true)), err
end

-- ---- An agent's tools ----------------------------------------------------------------------

local function is_one_of(list, name)
  for _, one in ipairs(list) do
    if glob(one, name) then return true end
  end
  return false
end

-- What the agent's file and the file of servers say, both.
local function is_wanted(def, name)
  return (not def.only or is_one_of(def.only, name)) and (not def.tools or is_one_of(def.tools, name)) and (not def.include or is_one_of(def.include, name)) and not (def.exclude and is_one_of(def.exclude, name))
end

-- Whether callers grant it; by its name: then it is shown, although others are looked for.
local function is_granted(self, one)
  local allowed = self.allowed
  return not allowed or allowed[one.name] == true or allowed.mcp == true, allowed ~= nil and allowed[one.name] == true
end

local function make_all(self, def, list)
  local made = {}
  for _, one in ipairs(list) do
    local good, wrong = nil, nil
    if is_wanted(def, one.name) then good, wrong = server_tool.make(def, one) end
    if good then made[#made + 1] = good end
    if wrong and not self.again then self.warn(("MCP server '%s': its tool '%s' is left out: %s"):format(def.name, one.name, wrong)) end
  end
  return made
end

-- What is not granted by a caller is withheld where it is shown, and not found.
local function take(self, def, list)
  local made, defer = make_all(self, def, list), def.defer
  if defer == nil then defer = #made > MANY end
  for _, one in ipairs(made) do
    local granted, by_name = is_granted(self, one)
    if not defer or by_name then self.all[#self.all + 1] = one elseif granted then self.later[#self.later + 1] = one end
  end
end

-- Resources where there are any; prompts, which are meant for people, where the agent's file names them.
local function take_offers(self, def, offer)
  local function connected()
    local entry, err = servers.get(def)
    return entry and entry.client, err
  end
  local asks_for_prompts = false
  for _, one in ipairs(def.tools or {}) do asks_for_prompts = asks_for_prompts or one == "prompts" end
  if offer.resources and is_wanted(def, "resources") then self.all[#self.all + 1] = offers.tool("resources", def, connected) end
  if offer.prompts and asks_for_prompts then self.all[#self.all + 1] = offers.tool("prompts", def, connected) end
end

-- Where the agent's file names a server that does not exist, the error names that place.
local function at_name(agent, named, err)
  for i, one in ipairs(named.by_name and agent.mcp or {}) do
    if one == named then err.message = at_key(agent, ("/mcp/%d"):format(i - 1), err.message) end
  end
  return err
end

local function find(self, agent, run, named, of_run)
  local def, err, odd = defs.find(named)
  if not def then return nil, at_name(agent, named, err) end
  for _, message in ipairs(self.again and {} or odd or {}) do self.warn(message) end
  if def.disabled then return def end
  local ok
  ok, err = admit(run, def)
  if not ok then return nil, err end
  local made
  made, err = servers.expand(def)
  if made then made.source, made.of_run, made.cuts = def, of_run, run and run.cuts or 0 end
  return made, err
end

local function tools_of(self, agent, run, named, of_run)
  local def, err = find(self, agent, run, named, of_run)
  if not def then return nil, err end
  if def.disabled then
    if not self.again then self.warn(("MCP server '%s' is disabled where it stands: %s goes on without its tools"):format(def.name, agent.name)) end
    return true
  end
  local offer
  offer, err = offer_of(def)
  if not offer then return nil, err end
  for _, one in ipairs(self.again and {} or offer.dropped) do self.warn(("MCP server '%s': its tool '%s' is left out: %s"):format(def.name, one.name, one.why)) end
  for _, name in ipairs(offer.changed) do
    self.warn(("MCP server '%s': its tool '%s' says something else of itself than when it was last used: look at it (hocket mcp tools %s)"):format(def.name, name, def.name))
  end
  take(self, def, offer.tools)
  take_offers(self, def, offer)
  if offer.tells then self.servers[#self.servers + 1] = { def = def, state = offer.state } end
  return true
end

local function gather(env, again)
  local run = runs.current()
  local self = { again = again, all = {}, later = {}, servers = {}, allowed = env.allowed, warn = function(message)
    if run then run:emit("warning", { message = message }, env.agent.name) end
  end }
  for _, named in ipairs(env.agent.mcp) do
    local ok, err = tools_of(self, env.agent, run, named, env.of_run)
    if not ok and named.optional then
      self.warn(("%s: goes on without its tools: %s"):format(env.agent.name, err.message))
    elseif not ok then
      return nil, err
    end
  end
  if #self.later > 0 then self.all[#self.all + 1] = search.tool(self.later) end
  for _, list in ipairs { self.all, self.later } do
    for _, one in ipairs(list) do one.set = "mcp" end
  end
  return self
end

-- ---- While it is at work ---------------------------------------------------------------------

local function by_name(self)
  local all = {}
  for _, list in ipairs { self.all, self.later } do
    for _, one in ipairs(list) do all[one.name] = one end
  end
  return all
end

-- What its servers have said meanwhile, as far as they are connected.
local function states(self)
  return effects.value("mcp_changes", { servers = #self.servers }, function()
    local list = {}
    for i, one in ipairs(self.servers) do list[i] = servers.state(one.def) or one.state end
    return table.concat(list, " ")
  end)
end

local function states_known(self)
  local list = {}
  for i, one in ipairs(self.servers) do list[i] = one.state end
  return table.concat(list, " ")
end

local function is_alike(a, b)
  return a.description == b.description and canonical(a.parameters) == canonical(b.parameters)
end

-- What of the tools of before is new, another or gone.
local function compare(before, now)
  local difference, any = { added = json.array {}, changed = json.array {}, removed = json.array {} }, false
  local function note(what, name) table.insert(difference[what], name); any = true end
  for name, one in pairs(now) do
    if not before[name] then note("added", name) elseif not is_alike(before[name], one) then note("changed", name) end
  end
  for name in pairs(before) do
    if not now[name] then note("removed", name) end
  end
  for _, list in pairs(difference) do table.sort(list) end
  return any and difference
end

-- The ones that the session gets: what is shown, and what it had found. No name of another tool is taken.
local function for_session(session, self, before)
  local list, seen = {}, {}
  local function add(one, there)
    if seen[one.name] or there and there ~= before[one.name] then return end
    list[#list + 1], seen[one.name] = one, true
  end
  for _, one in ipairs(self.all) do
    if is_granted(self, one) then add(one, session:tool_named(one.name)) end
  end
  for _, one in ipairs(self.later) do
    local there = session:tool_named(one.name)
    if there then add(one, there) end
  end
  return list
end

-- The ones that it loses, and why.
local function gone_from(session, before, names)
  local gone = {}
  for _, name in ipairs(names) do
    if session:tool_named(name) == before[name] then gone[name] = "its MCP server has it no more" end
  end
  return gone
end

local function exchange(env, self, session)
  local now, err = gather(env, true)
  if not now then
    self.warn(("%s: its MCP tools have changed, and cannot be read: %s"):format(env.agent.name, err.message))
    return self
  end
  local before, after = by_name(self), by_name(now)
  local difference = compare(before, after)
  if not difference then return now end
  session:exchange(gone_from(session, before, difference.removed), for_session(session, now, before))
  local run = runs.current()
  if run then run:emit("tools_changed", difference, env.agent.name) end
  return now
end

-- Before each turn: looks whether a server has told of changes.
local function follow(env, self)
  local known = states_known(self)
  return function(session)
    local now = states(self)
    if now == known then return nil end
    local before = self
    self = exchange(env, self, session)
    known = self ~= before and states_known(self) or now
  end
end

--- The tools of all servers that an agent names.
---@async
---@param env {agent: hocket.Agent, run: hocket.Run, allowed?: table<string, boolean>}
---@return hocket.Tool[]?
---@return hocket.Error?
function toolset.tools(env)
  local self, err = gather(env)
  if not self then return nil, err end
  if #self.servers > 0 and env.before_turn then table.insert(env.before_turn, follow(env, self)) end
  return self.all
end

return toolset

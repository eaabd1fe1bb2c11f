--- Agents of opencode: `.opencode/agent/*.md` and `.opencode/agents/*.md`, with the permissions of its first and second version.
local json = require "hocket.json"
local sorted_keys = require "hocket.internal.base.sorted_keys"

-- hocket always does these: no agent reaches files outside the working folder, and repeated calls end a run.
local always_so = { external_directory = true, doom_loop = true }

-- A rule for uses of one tool. Theirs go by the last that fits, ours by the strictest: what ours cannot say is denied as a whole.
local function read_patterns(t, name, rules)
  local by, is_command = {}, name == "bash" or name == "shell"
  for pattern, effect in pairs(rules) do by[effect] = by[effect] or {}; table.insert(by[effect], tostring(pattern)) end
  if rules["*"] == "deny" and by.allow and name == "task" then
    table.sort(by.allow)
    t.calls = by.allow
  elseif rules["*"] == "deny" or not is_command and by.deny then
    if by.allow then t:warn("denies '%s' as a whole: hocket has no rule for exceptions", name) end
    t:deny { name }
  elseif not is_command and by.ask then
    t:ask { name }
  else
    for _, pattern in ipairs(by.deny or {}) do t:deny { ("%s(%s)"):format(name, pattern) } end
    for _, pattern in ipairs(by.ask or {}) do
      if pattern ~= "*" then t:rule("ask", ("execute_command(%s)"):format(pattern)) end
    end
    if rules["*"] == "ask" and not by.allow then t:ask { name } end
    for _, pattern in ipairs(rules["*"] == "ask" and by.allow or {}) do t:rule("allow", ("execute_command(%s)"):format(pattern)) end
  end
end

local effects = { allow = true, ask = true, deny = true }

-- A rule for some uses of every tool: ours have one argument, and no two tools the same.
local function read_rules_of_all(t, rules)
  for _, pattern in ipairs(sorted_keys(rules)) do
    if rules[pattern] == "deny" then return t:refuse("denies '%s' of every tool: name the tools", pattern) end
    if rules[pattern] == "ask" then t:rule("ask", "*") end
  end
end

local function read_permission(t, value)
  if effects[value] then value = { ["*"] = value } end
  if type(value) ~= "table" or json.is_array(value) then return t:refuse "must name tools with allow, ask or deny" end
  for _, name in ipairs(sorted_keys(value)) do
    local effect = value[name]
    if type(effect) == "table" then
      for _, one in pairs(effect) do
        if not effects[one] then return t:refuse("must name tools with allow, ask or deny, not '%s'", tostring(one)) end
      end
      if name == "*" then read_rules_of_all(t, effect) elseif not always_so[name] then read_patterns(t, name, effect) end
    elseif not effects[effect] then
      return t:refuse("must name tools with allow, ask or deny, not '%s'", tostring(effect))
    elseif always_so[name] then
      t:note("'%s' is so here in any case", name)
    elseif name == "*" then
      if effect == "deny" then t.only_named, t.wanted, t.all_tools = true, {}, nil elseif effect == "ask" then t:rule("ask", "*") end
    elseif effect == "deny" then
      t:deny { name }
    elseif effect == "ask" then
      t:ask { name }
    elseif value["*"] == "deny" then
      t:tools { name }
    end
  end
end

-- What stands before a rule for all uses of a tool, or of all tools, allows nothing that this one does not.
local function overrule(by_name, name, effect)
  for other, rules in pairs(effect ~= "allow" and by_name or {}) do
    for resource, before in pairs(other == name and rules or name == "*" and effect == "deny" and rules or {}) do
      if before == "allow" or effect == "deny" then rules[resource] = nil end
    end
    if next(rules) == nil then by_name[other] = nil end
  end
end

-- Of the second version: a list of {action, resource, effect}, of which the last one that fits counts.
local function read_permissions(t, value)
  if not json.is_array(value) then return read_permission(t, value) end
  local by_name = {}
  for _, one in ipairs(value) do
    local name, effect = type(one) == "table" and one.action, type(one) == "table" and one.effect
    if type(name) ~= "string" or not effects[effect] then return t:refuse "must be a list of action, resource and effect (allow, ask, deny)" end
    local resource = type(one.resource) == "string" and one.resource or "*"
    if resource == "*" then overrule(by_name, name, effect) end
    by_name[name] = by_name[name] or {}
    by_name[name][resource] = effect
  end
  local whole = {}
  for name, rules in pairs(by_name) do
    whole[name] = rules["*"] and next(rules, next(rules)) == nil and rules["*"] or rules
  end
  read_permission(t, whole)
end

-- `tools: {write: false}`.
local function read_tools(t, value)
  if type(value) ~= "table" or json.is_array(value) then return t:tools(t:list(value)) end
  local named, off = {}, {}
  for _, name in ipairs(sorted_keys(value)) do
    if type(value[name]) ~= "boolean" then return t:refuse "must name tools with true or false" end
    if value[name] then named[#named + 1] = name elseif name ~= "*" then off[#off + 1] = name end
  end
  t:deny(off)
  if value["*"] == false then t:tools(named) end
end

local levels = { low = true, medium = true, high = true, xhigh = true, max = true, minimal = true, none = true }

return {
  title = "opencode", files = { ".opencode/agent/*.md", ".opencode/agents/*.md" }, no_tools = "assistant", project = true,
  keys = {
    { "name", doc = "`name`", read = function(t, v) t:name(v) end },
    { "description", doc = "`description`", read = function(t, v) t:text("description", v) end },
    { "tools", doc = "tools with `false` are denied; with `\"*\": false` it has those with `true` alone", read = read_tools },
    { "permission", doc = "`deny` takes a tool away, `ask` is a rule of `approve`, `allow` widens nothing", read = read_permission },
    { "permissions", doc = "as `permission`", read = read_permissions },
    { "model", doc = "the model, by the table of models; its variant is passed over", read = function(t, v) t:models(v) end },
    { "temperature", doc = "`temperature`", read = function(t, v) t:number("temperature", v, 0, 2) end },
    { "top_p", doc = "`top_p`", read = function(t, v) t:number("top_p", v, 0, 1) end },
    { "steps", doc = "`max_turns`", read = function(t, v) t:limit("max_turns", v) end },
    { "maxSteps", doc = "`max_turns`", read = function(t, v) t:limit("max_turns", v) end },
    { "reasoningEffort", doc = "`reasoning`", read = function(t, v)
      if levels[v] then t:set("reasoning", v) else t:warn "is no effort that hocket knows: the model's own is used" end
    end },
    { "mode", doc = "whom it is for: a person or an agent names it here", passed = true },
    { "hidden", doc = "whether it is in their list: a person names it here", passed = true },
    { "disable", doc = "`true`: the agent is left out", read = function(t, v) t:disabled(v) end },
    { "disabled", doc = "`true`: the agent is left out", read = function(t, v) t:disabled(v) end },
    { "color", doc = "colours are of their screens" },
    { "prompt", doc = "the prompt is what stands below the front matter" },
    { "options", doc = "members of their requests: write `body:` in an agent of hocket" },
    { "request", doc = "members of their requests: write `body:` in an agent of hocket" },
  },
}

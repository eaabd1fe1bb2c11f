--- Custom agents of GitHub Copilot and VS Code: `*.agent.md`, `*.chatmode.md`, `.github/agents`.
local json = require "hocket.json"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local function read_agents(t, value)
  if value == "*" or json.is_array(value) and value[1] == "*" then t.calls = "any" else t.calls = t:list(value) end
end

--- Handoffs of one agent.
local MOST = 20

local function text(value)
  return type(value) == "string" and value:find "%S" and value or nil
end

local known = { agent = true, label = true, prompt = true, send = true }

-- Other keys of an entry. `send` sends its prompt at once when somebody clicks VS Code's button; hocket has none.
local function note_others(others, one)
  for key in pairs(one) do
    if not known[key] then others[tostring(key)] = true end
  end
end

-- There a person presses a button; here the model chooses, or answers itself.
local function read_handoffs(t, value)
  if type(value) ~= "table" or not json.is_array(value) then return t:warn "must be a list, and is passed over" end
  t.handoffs = {}
  local others = {}
  for i = 1, math.min(#value, MOST) do
    local one = value[i]
    if type(one) ~= "table" or not text(one.agent) then
      t:warn "has an entry without an agent, which is left out"
    else
      note_others(others, one)
      t.handoffs[#t.handoffs + 1] = { agent = one.agent, when = text(one.label), prompt = text(one.prompt) }
    end
  end
  if next(others) then t:warn("has keys of entries that are passed over, so that the next agent has its own: %s", table.concat(sorted_keys(others), ", ")) end
  if #value > MOST then t:warn("has more than %d entries: the rest is left out", MOST) end
end

local function read_person_only(t, value)
  if value == true or value == "true" then
    t.person_only = true
    t:note "no other agent may call it"
  elseif value ~= false and value ~= "false" and value ~= json.null then
    t:refuse "must be true or false"
  end
end

local function read_servers(t, value)
  t:named_servers(value)
end

return {
  title = "GitHub Copilot and VS Code", files = { "*.agent.md", ".github/agents/*.md", "*.chatmode.md" }, no_tools = "assistant", project = true,
  keys = {
    { "name", doc = "`display_name`, and `name` as agents are called here", read = function(t, v) t:name(v) end },
    { "description", doc = "`description`", read = function(t, v) t:text("description", v) end },
    { "tools", doc = "`tools`, by the table of tools; without it, or `*`, those of the assistant", read = function(t, v)
      if v == json.null then t:warn "names no tools: it has none" end
      t:tools(t:list(v))
    end },
    { "agents", doc = "`agents`, by name or file; `*`: those beside it that call no others", read = read_agents },
    { "model", doc = "the model, by the table of models; the others of a list are fallbacks", read = function(t, v)
      if v ~= json.null then t:models(v) end
    end },
    { "disable-model-invocation", doc = "`true`: no other agent may call it", read = read_person_only },
    { "infer", doc = "`false`: no other agent may call it", read = function(t, v)
      if type(v) ~= "boolean" then return t:refuse "must be true or false" end
      read_person_only(t, not v)
    end },
    { "user-invocable", doc = "whether it is in their list: a person names it here", passed = true },
    { "user-invokable", doc = "whether it is in their list: a person names it here", passed = true },
    { "hidden", doc = "whether it is in their list: a person names it here", passed = true },
    { "mode", doc = "whom it is for: a person or an agent names it here", passed = true },
    { "target", doc = "which of their programs it is for", passed = true },
    { "handoffs", doc = "`handoff`: the model chooses one of them, or answers; `model` of an entry and further keys are passed over with a warning; one that would close a circle is left out with a warning", read = read_handoffs },
    { "mcp-servers", doc = "`mcp`: a person is asked before they start", read = read_servers },
    { "argument-hint", doc = "a hint in their input line" },
    { "agent", doc = "which of their modes it is for" },
    { "hooks", doc = "programs that a file names do not run" },
    { "metadata", doc = "for other programs", passed = true },
  },
}

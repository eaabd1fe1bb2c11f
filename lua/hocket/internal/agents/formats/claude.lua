--- Sub-agents of Claude Code: `.claude/agents/*.md`, and those of its plugins.
local json = require "hocket.json"

local efforts = { low = "low", medium = "medium", high = "high", xhigh = "xhigh", max = "max" }

-- A mode either asks more often than the run does, which is narrower, or less often, which no file may.
local modes = {
  default = function(t) t:note "asks as the run does" end,
  plan = function(t)
    t.reads_only = true
    t:note "has only tools that change nothing"
  end,
  dontAsk = function(t)
    t.reads_only = true
    t:note "what would be asked is refused there: it has only tools that change nothing"
  end,
}

local function read_mode(t, value)
  local mode = modes[value]
  if mode then return mode(t) end
  if value == "acceptEdits" or value == "bypassPermissions" or value == "auto" then
    return t:warn("is passed over: only whoever starts a run says what needs no question (--approve), not '%s'", value)
  end
  t:refuse "must be default, plan, dontAsk, acceptEdits, bypassPermissions or auto"
end

local function read_tools(t, value)
  if value == json.null then t:warn "names no tools: it has none" end
  t:tools(t:list(value))
end

-- A path would be looked for from the file on, and theirs are names.
local function read_skills(t, value)
  local names, paths = json.array {}, {}
  for _, name in ipairs(t:list(value)) do
    local list = name:find("/", 1, true) and paths or names
    list[#list + 1] = name
  end
  if #paths > 0 then t:warn("names paths, which are left out: %s", table.concat(paths, ", ")) end
  if #names > 0 then t:set("skills", names) end
end

local function read_isolation(t, value)
  if value == json.null or value == "none" or value == false then return end
  t:refuse "would let the agent change a copy of the files only, which hocket does not make: remove it where it may change the files themselves"
end

return {
  title = "Claude Code", files = { ".claude/agents/*.md" }, no_tools = "assistant", project = true,
  keys = {
    { "name", doc = "`name`, and `display_name` where it has to be spelt otherwise", read = function(t, v) t:name(v) end },
    { "description", doc = "`description`", read = function(t, v) t:text("description", v) end },
    { "tools", doc = "`tools`, by the table of tools; without it, those of the assistant", read = read_tools },
    { "allowed-tools", doc = "as `tools`", read = read_tools },
    { "disallowedTools", doc = "they are taken from `tools`, and denied by `approve`", read = function(t, v) t:deny(t:list(v)) end },
    { "model", doc = "the model, by the table of models", read = function(t, v) t:models(v) end },
    { "permissionMode", doc = "`plan` and `dontAsk`: only tools that change nothing; others never widen, with a warning", read = read_mode },
    { "maxTurns", doc = "`max_turns`", read = function(t, v) t:limit("max_turns", v) end },
    { "effort", doc = "`reasoning`", read = function(t, v)
      if efforts[v] then t:set("reasoning", efforts[v]) else t:warn "is no effort that hocket knows: the model's own is used" end
    end },
    { "skills", doc = "`skills`: those of the project by name; missing ones are left out with a warning", read = read_skills },
    { "isolation", doc = "`worktree` is refused: hocket makes no copy of the files", read = read_isolation },
    { "mcpServers", doc = "`mcp`: servers of .mcp.json by name, and servers that are written out, of which a person is asked before they start", read = function(t, v) t:named_servers(v) end },
    { "hooks", doc = "programs that a file names do not run" },
    { "memory", doc = "write `memory:` in an agent of hocket" },
    { "background", doc = "the caller decides that" },
    { "initialPrompt", doc = "the run's input is the first message" },
    { "color", doc = "colours are of their screens" },
    { "omitClaudeMd", doc = "`true`: the project's instructions are not read", read = function(t, v) if v == true then t.no_project = true end end },
    { "disabled", doc = "`true`: the agent is left out", read = function(t, v) t:disabled(v) end },
  },
}

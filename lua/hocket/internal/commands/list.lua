--- `hocket agents [DIR]` and `hocket tools`: what exists, before anything runs.
local agents = require "hocket.agent"
local workflow_bound = require "hocket.internal.agents.workflow_bound"
local find = require "hocket.internal.agents.find"
local json = require "hocket.json"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local tool = require "hocket.tool"

local list = {}

--- Model calls beyond which a number helps nobody.
local MANY = 1000000

--- Columns of a narrow terminal.
local WIDTH = 79

-- Adds an entry: its name once, then the text in lines that break between words.
local function add_entry(lines, indent, name, text)
  local line = ("  %-" .. indent .. "s"):format(name)
  for word in text:gmatch "%S+" do
    if #line > indent + 2 and #line + 1 + #word > WIDTH then
      lines[#lines + 1] = line
      line = (" "):rep(indent + 2)
    end
    line = line .. " " .. word
  end
  lines[#lines + 1] = line
end

-- ---- Agents -----------------------------------------------------------------------------------

local function own_tools(def)
  local names = json.array {}
  for i, one in ipairs(def.tools or {}) do names[i] = type(one) == "table" and one.name or one end
  return names
end

local function rows_of(team, from)
  local all, rows = workflow_bound.of_team(team, false), {}
  for i, name in ipairs(sorted_keys(team)) do
    local def = team[name]
    rows[i] = { name = name, from = from, description = def.description or "", tools = own_tools(def), agents = json.array(def.agents or {}),
      model_calls = all[name].model_calls }
  end
  return rows
end

local function add_agent(lines, row)
  local calls = row.model_calls > MANY and "more than a million" or ("%d"):format(row.model_calls)
  add_entry(lines, 15, row.name, row.description)
  add_entry(lines, 15, "", "tools: " .. (#row.tools > 0 and table.concat(row.tools, ", ") or "none"))
  add_entry(lines, 15, "", ("%sat most %s model calls for one request"):format(
    #row.agents > 0 and ("calls %s; "):format(table.concat(row.agents, ", ")) or "", calls))
end

local function add_team(result, lines, title, team, from)
  lines[#lines + 1] = title
  for _, row in ipairs(rows_of(team, from)) do
    add_agent(lines, row)
    result.agents[#result.agents + 1] = row
  end
end

-- The teams of a folder that are valid; `hocket check` explains the others.
local function add_folder(result, lines, dir)
  local dirs, err = find.teams(dir)
  if not dirs then return nil, err end
  for _, at in ipairs(dirs) do
    local ok, team = pcall(agents.load_dir, at)
    if not ok then return nil, team end
    add_team(result, lines, ("agents in %s (hocket run %s/NAME.md \"…\")"):format(at, at), team, at)
    lines[#lines + 1] = ""
  end
  if #dirs == 0 then return nil, { code = "not_found", message = ("%s: no agents in it"):format(dir) } end
  return true
end

---@param args {path?: string}
function list.agents(args)
  require "hocket.internal.runner.builtins"
  local result, lines = { agents = json.array {} }, {}
  if args.path then
    local ok, err = add_folder(result, lines, (args.path:gsub("(.)/+$", "%1")))
    if not ok then return nil, err end
  end
  add_team(result, lines, 'built-in agents (hocket run NAME "…")', agents.built_in(), "hocket")
  result.text = table.concat(lines, "\n")
  return result
end

-- ---- Tools ------------------------------------------------------------------------------------

-- What a name of several tools is for, or one that needs more than a folder to be made.
local sets = {
  delegate = "calls the agents of `agents:`, side by side and in the background",
  ask_again = "asks an agent again that it has called",
  delegate_to_agent = "calls one agent of `agents:` and waits for its answer",
  facilitator = "plans tasks, calls specialists, merges the shared document",
  mcp = "gives the tools of the agent's MCP servers",
  memory = "keeps notes that outlive the run",
  project = "follows the AGENTS.md of the project",
  servers_of_run = "gives the tools of MCP servers that the starter of the run names",
  skills = "reads the project's skills when they are needed",
  specialist = "reads its tasks, writes its sections, completes its tasks",
}

-- Tools that exist only in a project that has such a workflow, or while a specialist works on a task.
local elsewhere = {
  ["workflow:NAME"] = "Run the workflow workflows/NAME.lua of the project.",
  ["plan:NAME"] = "Carry out the saved plan plans/NAME.md of the project.",
  report_blocker = "Report what blocks its task: the planner adds tasks for that, or refuses.",
  split_task = "Split its task of a plan into parts for specialists.",
}

-- What the permission check makes of it where no rule says otherwise (docs/guides/tools.md).
local asks = { write = true, run = true, open = true, elsewhere = true }

-- A name whose tools an agent has only in some places, and that no list here describes.
local UNKNOWN = "(no description)"

local function row_of(name, description, effects, is_set)
  local row = { name = name, description = description, effects = json.array(effects), set = is_set, asks = false }
  for _, effect in ipairs(effects) do row.asks = row.asks or asks[effect] == true end
  return row
end

local function describe(name)
  if sets[name] or elsewhere[name] then return row_of(name, sets[name] or elsewhere[name], {}, sets[name] ~= nil) end
  local made = tool.resolve({ name }, { agent = { name = "hocket", tools = {} }, run = { options = {} } }) or {}
  if #made ~= 1 then return row_of(name, UNKNOWN, {}, #made > 1) end
  return row_of(name, made[1].description:match "^(.-%.)%s" or made[1].description, made[1].effects or {}, false)
end

function list.tools()
  require "hocket.internal.runner.builtins"
  local result, lines, groups = { tools = json.array {} }, {}, { single = {}, set = {} }
  for i, name in ipairs(tool.names()) do
    local row = describe(name)
    result.tools[i] = row
    local group = groups[row.set and "set" or "single"]
    add_entry(group, 19, name, row.description .. (row.asks and " (needs approval)" or ""))
  end
  lines[1] = "built-in tools (in an agent's file: tools: [read_file, web_search])"
  table.move(groups.single, 1, #groups.single, 2, lines)
  table.move({ "", "sets of tools: each name gives several tools", table.unpack(groups.set) }, 1, #groups.set + 2, #lines + 1, lines)
  lines[#lines + 1] = ""
  lines[#lines + 1] = "Your own tools: hocket.tool in a script, or an MCP server (hocket help guides/tools)."
  result.text = table.concat(lines, "\n")
  return result
end

return list

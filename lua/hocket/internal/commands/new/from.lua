--- `hocket new --from PATH DIR`: agents of other programs as files of ours. What was not taken over is a comment at the head of each.
local agents = require "hocket.agent"
local formats = require "hocket.internal.agents.formats"
local json = require "hocket.json"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local from = {}

--- Keys of ours that a format can set, in the order in which they are written.
local order = { "name", "display_name", "description", "tools", "agents", "handoff", "advisors", "router", "skills", "project", "temperature", "top_p", "top_k",
  "max_tokens", "reasoning", "max_turns", "parallel", "timeout", "retries", "input", "output" }

local function is_empty(value)
  return type(value) == "table" and next(value) == nil
end

local function add_comment(lines, text)
  for line in text:gmatch "[^\n]+" do lines[#lines + 1] = "# " .. line end
end

-- What the file of the other program says and ours cannot: for a person to decide about.
local function add_notes(lines, def, problems)
  add_comment(lines, ("From %s, an agent of %s."):format(def.file, formats.get(def.theirs.format).title))
  for _, one in ipairs(problems) do
    if one.file == def.file and one.code == "format" then add_comment(lines, one.message) end
  end
  if def.theirs.person_only then add_comment(lines, "Only a person was to call it: name it in no other agent.") end
  if def.theirs.wished then add_comment(lines, "model: " .. json.encode(json.array(def.theirs.wished))) end
  for _, server in ipairs(def.mcp or {}) do
    if not server.by_name then
      add_comment(lines, ("mcp: {%s: %s}"):format(server.name, json.encode { command = server.command, args = server.command and json.array(server.args), url = server.url }))
    end
    add_comment(lines, ("mcp: [%s]%s"):format(server.name, server.only and (" with these tools alone: " .. table.concat(server.only, ", ")) or ""))
  end
end

local function add_approve(lines, approve)
  lines[#lines + 1] = "approve:"
  for _, verdict in ipairs(sorted_keys(approve)) do
    local texts = json.array {}
    for i, rule in ipairs(approve[verdict]) do texts[i] = rule.text end
    if #texts > 0 then lines[#lines + 1] = ("  %s: %s"):format(verdict, json.encode(texts)) end
  end
end

local function text_of(def, problems)
  local lines = { "---" }
  add_notes(lines, def, problems)
  for _, key in ipairs(order) do
    local value = def[key]
    local says_nothing = value == nil or value == false or value == "" or is_empty(value) or key == "display_name" and value == def.name
    if not says_nothing then lines[#lines + 1] = ("%s: %s"):format(key, json.encode(value)) end
  end
  if def.approve then add_approve(lines, def.approve) end
  lines[#lines + 1] = "---"
  return table.concat(lines, "\n") .. "\n" .. def.prompt .. "\n"
end

--- The files of a project: by path, the text.
---@param path string A file, or a folder of them.
---@return {[1]: string, [2]: string}[]? files
---@return hocket.Error?
function from.files(path)
  require "hocket.internal.runner.builtins" -- the tools that agents' files name
  local team, problems = agents.read { path }
  local wrong = {}
  for _, one in ipairs(problems) do
    if one.severity == "error" then wrong[#wrong + 1] = one end
  end
  if #wrong > 0 then return nil, { code = "agent", message = agents.explain(wrong) } end
  local list = {}
  for _, name in ipairs(sorted_keys(team)) do
    if team[name].theirs then list[#list + 1] = { ("agents/%s.md"):format(name), text_of(team[name], problems) } end
  end
  if #list == 0 then return nil, { code = "invalid", message = ("%s has no agent of another program"):format(path) } end
  return list
end

return from

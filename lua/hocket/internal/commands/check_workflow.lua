--- What `hocket check` says of workflows: the worst case of each, and what its agents can reach (agents/workflow_bound.lua).
local json = require "hocket.json"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local workflow_bound = require "hocket.internal.agents.workflow_bound"
local workflow_file = require "hocket.internal.agents.workflow_file"
local workflow_report = require "hocket.internal.tools.workflow.report"

local check_workflow = {}

--- The workflows among scripts.
---@param texts table<string, string|boolean> By path.
---@return string[] paths
function check_workflow.find(texts)
  local paths = {}
  for _, path in ipairs(sorted_keys(texts)) do
    local text = texts[path]
    if type(text) == "string" and text:find("workflow", 1, true) and workflow_file.about(path) then paths[#paths + 1] = path end
  end
  return paths
end

local function number(n)
  if n == nil or n == math.huge then return json.null end
  return math.tointeger(n) or n
end

local function agents_of(bound)
  local list = json.array {}
  for i, one in ipairs(workflow_report.by_agent(bound)) do list[i] = { agent = one.agent, tools = json.array(one.tools), hosts = json.array(one.hosts) } end
  return list
end

--- The same for programs; null: without a bound, or not known.
---@param path string
---@param bound hocket.WorkflowBound
---@return table
function check_workflow.data(path, bound)
  return { file = path, agents = number(bound.agents), model_calls = number(bound.model_calls), tokens = number(bound.tokens),
    cost = bound.tokens < math.huge and number(bound.cost) or json.null, unbounded = json.array(bound.unbounded), unknown = json.array(bound.unknown),
    reaches = { agents = json.array(bound.reaches.agents), tools = json.array(bound.reaches.tools), by_agent = agents_of(bound), script = bound.reaches.script and json.array(bound.reaches.script) or json.null } }
end

check_workflow.of, check_workflow.text = workflow_bound.of, workflow_report.text

return check_workflow

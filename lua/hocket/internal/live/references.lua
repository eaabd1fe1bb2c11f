--- Agents that scripts name and that are gone. A script is not run to be validated, so that only what is
--- written out is seen:
---
---     local team = hocket.agents(here .. "/agents")
---     return hocket.run(team.editor, question)
---
--- An agent that was there in the generation before, and is not any more, would be missed when the
--- script runs. What a script gets from elsewhere, or by another name, is its own.
local script = require "hocket.internal.base.script"
local fiber = require "hocket.internal.core.fiber"
local problem = require "hocket.internal.agents.problem"

local references = {}

--- Bytes of a line that is looked at.
local LINE = 400

-- The variables of a script that hold teams: variable -> the end of the directory's path.
local function teams_in(text)
  local found = {}
  for line in text:gmatch "[^\n]+" do
    local name, from = line:sub(1, LINE):match "([%a_][%w_]*)%s*=%s*.-%.agents%s*%(?(.*)$"
    local dir = from and from:match "[\"']%.?/?([^\"']+)[\"']%s*%)?%s*$"
    if dir then found[name] = dir end
  end
  return found
end

local function line_of(text, at)
  local _, breaks = text:sub(1, at - 1):gsub("\n", "")
  return breaks + 1
end

-- Where a script first names an agent of the team that a variable holds.
local function named_at(text, variable, name)
  local quoted = name:gsub("%-", "%%-")
  for _, pattern in ipairs { "%%f[%%w_]%s%%.%s%%f[^%%w_]", "%%f[%%w_]%s%%[[\"']%s[\"']%%]" } do
    local at = text:find(pattern:format(variable, quoted))
    if at then return line_of(text, at) end
  end
end

local function script_problems(view, rel, dir, gone, problems)
  local text = view.texts[rel]
  for variable, from in pairs(teams_in(text)) do
    if dir == from or dir:sub(-#from - 1) == "/" .. from then
      for name, file in pairs(gone) do
        local line = named_at(text, variable, name)
        if line then
          problems[#problems + 1] = problem.new(view:shown(rel), line, 1, "unknown_agent",
            ("the agent '%s' is gone, and is named here: its file was %s"):format(name, file))
        end
      end
    end
  end
end

--- Adds a problem for each agent of a team before that is gone and is named by a script.
---@param view hocket.View
---@param before table<string, table<string, hocket.Agent>> Teams by directory.
---@param now table<string, table<string, hocket.Agent>>
---@param problems hocket.Problem[]
function references.check_gone(view, before, now, problems)
  for dir, team in pairs(before) do
    local gone = {}
    for name, def in pairs(team) do
      fiber.rest()
      if not (now[dir] and rawget(now[dir], name)) and view:inside(def.file) then gone[name] = def.file end
    end
    for _, rel in ipairs(next(gone) and view.order or {}) do
      if script.is(rel) and view.texts[rel] then script_problems(view, rel, dir, gone, problems) end
    end
  end
end

return references

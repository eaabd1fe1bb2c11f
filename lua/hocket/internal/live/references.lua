--- Agents and modules that scripts name and that are gone. A script is not run to be validated, so that of agents only what is
--- written out is seen:
---
---     local team = hocket.agents(here .. "/agents")
---     return hocket.run(team.editor, question)
---
--- An agent that was there in the generation before, and is not any more, would be missed when the
--- script runs. What a script gets from elsewhere, or by another name, is its own. A module that is gone is missed where a script
--- names it, or names modules by what it computes.
local script = require "hocket.internal.base.script"
local fiber = require "hocket.internal.core.fiber"
local problem = require "hocket.internal.agents.problem"
local required = require "hocket.internal.runner.required"

local references = {}

--- Bytes of a line that is checked.
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

--- Adds a problem for each agent of a team before that is gone and is named by a script. One whose file has a mistake is not gone.
---@param view hocket.View
---@param before table<string, table<string, hocket.Agent>> Teams by directory.
---@param now table<string, table<string, hocket.Agent>>
---@param problems hocket.Problem[]
function references.check_gone(view, before, now, problems)
  local broken = {}
  for _, one in ipairs(problems) do broken[one.file] = broken[one.file] or one.severity == "error" end
  for dir, team in pairs(before) do
    local gone = {}
    for name, def in pairs(team) do
      fiber.rest()
      if not (now[dir] and rawget(now[dir], name) or broken[def.file]) and view:inside(def.file) then gone[name] = def.file end
    end
    for _, rel in ipairs(next(gone) and view.order or {}) do
      if script.is(rel) and view.texts[rel] then script_problems(view, rel, dir, gone, problems) end
    end
  end
end

-- Whether a name of a module is that of a file, from its folder or from one above it on.
local function is_of_file(name, file_name)
  return name == file_name or file_name:sub(-#name - 1) == "." .. name
end

--- A script that may require a module.
---@param view hocket.View
---@param name string The module's, from the directory of the view on.
---@return string? rel
---@return integer? line
function references.requires(view, name)
  for _, rel in ipairs(view.order) do
    local text = script.is_lua(rel) and view.texts[rel]
    local names = text and required.names(view:shown(rel), text, fiber.rest)
    for _, one in ipairs(names and names.required or {}) do
      if is_of_file(one.name, name) then return rel, line_of(text, one.at) end
    end
    if names and names.computed then return rel, 1 end
    fiber.rest()
  end
end

return references

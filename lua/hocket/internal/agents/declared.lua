--- What the scripts of a project make known to its agents: toolsets and providers, by name. No script is run for it, so
--- that only names that are written out are seen; the ones that a script computes it declares in a comment:
---
---     --- @hocket.tools look_up, book_table
---     --- @hocket.providers mycloud
---
--- And which agents a script speaks of: the ones that it may begin with.
local fiber = require "hocket.internal.core.fiber"
local script = require "hocket.internal.base.script"
local sources = require "hocket.internal.base.sources"

local declared = {}

--- Names after which others have their turn.
local SLICE = 20

---@class hocket.Declared
---@field tools table<string, boolean>
---@field providers table<string, boolean>
---@field texts table<string, string> By script: what stands in it.

---@return hocket.Declared
function declared.new()
  return { tools = {}, providers = {}, texts = {} }
end

local calls = {
  tools = { "tool%.set%s*%(?%s*[\"']([%w_-]+)[\"']" },
  providers = { "hocket%.provider%s*%(?%s*[\"']([%w_-]+)[\"']", "providers%.add%s*%(?%s*[\"']([%w_-]+)[\"']" },
}

--- Takes a script in.
---@param known hocket.Declared
---@param path string
---@param text string
function declared.note(known, path, text)
  for kind, patterns in pairs(calls) do
    for _, pattern in ipairs(patterns) do
      for name in text:gmatch(pattern) do known[kind][name] = true end
    end
    for list in text:gmatch("@hocket%." .. kind .. "[ \t]+([^\n]+)") do
      for name in list:gmatch "[%w_-]+" do known[kind][name] = true end
    end
  end
  if path:match "[^/]*$" ~= "sim.lua" then known.texts[path] = text end
end

-- The scripts that stand in a directory, by path. The scripted model is none of them.
local function scripts_in(dir)
  local found = {}
  for i, name in ipairs(sources.list(dir) or {}) do
    local path = dir .. "/" .. name
    local text = script.is(name) and sources.read(path)
    if text then found[path] = text end
    if text or i % SLICE == 0 then fiber.rest() end
  end
  return found
end

local function has_script(scripts)
  for path in pairs(scripts) do
    if path:match "[^/]*$" ~= "sim.lua" then return true end
  end
  return false
end

local function name_of(dir)
  local name = dir:match "([^/]+)/*$"
  if name and not name:find "^%.%.?$" then return name end
  return (sources.real(dir) or ""):match "([^/]+)$" or ""
end

-- Whether a script names a directory, as in hocket.agents "village" or "inn/village".
local function names(text, name)
  return text:find("[\"'/]" .. name:gsub("%W", "%%%0") .. "[\"'/]") ~= nil
end

--- Takes the scripts in that belong to a directory: those in it; and those around it, where it is called 'agents', or has
--- none of its own and they name it. What else lies around it is another project.
---@param known hocket.Declared
---@param dir string
function declared.beside(known, dir)
  local own, name = scripts_in(dir), name_of(dir)
  for path, text in pairs(own) do
    declared.note(known, path, text)
    fiber.rest()
  end
  if name == "" or name ~= "agents" and has_script(own) then return end
  for path, text in pairs(scripts_in(dir .. "/..")) do
    if name == "agents" or names(text, name) then declared.note(known, path, text) end
  end
end

--- The words of the scripts that belong to a team; nil where it has none.
---@param known hocket.Declared
---@param dir string The team's.
---@return table<string, boolean>?
function declared.words_for(known, dir)
  local home = dir:match "^(.*)/agents$" or (dir == "agents" and "." or dir)
  local all
  for path, text in pairs(known.texts) do
    local around = path:match "^(.*)/[^/]*$" or "."
    if home == "." or around == home or around:sub(1, #home + 1) == home .. "/" or around == dir .. "/.." then
      all = all or {}
      for word in text:gmatch "[%w_-]+" do all[word] = true end
    end
  end
  return all
end

return declared

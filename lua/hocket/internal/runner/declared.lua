--- What the scripts of a project make known to its agents: toolsets and providers, by name. No script is run for it, so
--- that only names that are written out are seen; those that a script computes it declares in a comment:
---
---     --- @hocket.tools look_up, book_table
---     --- @hocket.providers mycloud
---
--- And which agents a script speaks of: those that it may begin with.
local fiber = require "hocket.internal.core.fiber"
local sources = require "hocket.internal.base.sources"

local declared = {}

--- Names after which others have their turn.
local SLICE = 100

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

--- Takes the scripts in that stand in a directory, and in the one around it: agents lie beside or below what uses them.
---@param known hocket.Declared
---@param dir string
function declared.beside(known, dir)
  for _, at in ipairs { dir, dir .. "/.." } do
    for i, name in ipairs(sources.list(at) or {}) do
      local path = at .. "/" .. name
      local text = name:sub(-4) == ".lua" and sources.read(path)
      if text then declared.note(known, path, text) end
      if text or i % SLICE == 0 then fiber.rest() end
    end
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

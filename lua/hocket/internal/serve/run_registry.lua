--- What runs have made, for clients to read: the document and the board of each of the last runs, as they are now or as they
--- were in the end.
---
---     hocket://runs/ID/document      Markdown
---     hocket://runs/ID/board         the tasks, as JSON
local json = require "hocket.json"
local runs = require "hocket.internal.run.run"

local run_registry = {}

--- Runs that are kept, the ones that go on not counted.
local KEPT = 50

---@class hocket.RunRegistry
local Registry = {}
Registry.__index = Registry

local kinds = {
  document = { mime = "text/markdown", title = "document of run %s" },
  board = { mime = "application/json", title = "board of run %s" },
}

---@param changed fun(what: "resources", uri?: string) Called when there is another thing to read, and when one is changed.
---@return hocket.RunRegistry
function run_registry.new(changed)
  return setmetatable({ runs = {}, order = {}, changed = changed }, Registry)
end

local function uri_of(id, kind)
  return ("hocket://runs/%s/%s"):format(id, kind)
end

--- A run has changed its document, or its board.
---@param id string
---@param kind "document"|"board"
function Registry:touch(id, kind)
  local one = self.runs[id]
  if not one then return end
  if not one[kind] then
    one[kind] = true
    self.changed "resources"
  end
  self.changed("resources", uri_of(id, kind))
end

--- A run begins.
---@param id string
---@param journal userdata
function Registry:begin(id, journal)
  self.runs[id] = { journal = journal }
  self.order[#self.order + 1] = id
end

local function forget_oldest(self)
  local ended = 0
  for _, id in ipairs(self.order) do ended = ended + (self.runs[id].result and 1 or 0) end
  for i, id in ipairs(self.order) do
    if ended > KEPT and self.runs[id].result then
      table.remove(self.order, i)
      self.runs[id] = nil
      return
    end
  end
end

--- It has ended, with what there was; what is said first counts.
---@param id string
---@param result table
function Registry:finish(id, result)
  local one = self.runs[id]
  if not one or one.result then return end
  one.journal = nil
  local document = type(result.document) == "table" and result.document.text or nil
  one.result = { document = document, board = result.tasks and #result.tasks > 0 and json.encode(result.tasks) or nil }
  forget_oldest(self)
end

local function content(one, kind)
  if not one then return nil end
  if one.result then return one.result[kind] end
  local run = runs.by_journal(one.journal)
  if not run then return nil end
  if kind == "document" then return run.documents[1] and run.documents[1]:render() end
  local tasks = run:tasks()
  return #tasks > 0 and json.encode(tasks) or nil
end

--- The addresses of what a run has made.
---@param id string
---@return {uri: string, name: string, mimeType: string}[]
function Registry:of(id)
  local list = {}
  for _, kind in ipairs { "board", "document" } do
    if content(self.runs[id], kind) then
      list[#list + 1] = { uri = uri_of(id, kind), name = kinds[kind].title:format(id), mimeType = kinds[kind].mime }
    end
  end
  return list
end

--- As a catalog lists them.
---@return table[]
function Registry:resources()
  local list = {}
  for _, id in ipairs(self.order) do
    for _, one in ipairs(self:of(id)) do
      one.read = function(uri) return content(self.runs[id], uri:match "[^/]+$") end
      list[#list + 1] = one
    end
  end
  return list
end

--- How they are found by the run's id.
---@return table[]
function Registry:templates()
  local list = {}
  for _, kind in ipairs { "board", "document" } do
    list[#list + 1] = {
      uriTemplate = ("hocket://runs/{run}/%s"):format(kind), name = kind, description = ("The %s of a run"):format(kind), mimeType = kinds[kind].mime,
      exists = function(values) return content(self.runs[values.run], kind) ~= nil end,
      read = function(_, _, values) return content(self.runs[values.run], kind) end,
      complete = { run = function() return table.move(self.order, 1, #self.order, 1, {}) end },
    }
  end
  return list
end

return run_registry

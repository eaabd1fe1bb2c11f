---@meta

--- Every change is a version, and every version can be rendered as it was. `#document` is the number of its entries. A
--- slot is a table with one value for each dimension.
---@class hocket.Document
local document = {}

---@class hocket.Slot
---@field slot table<string, string|integer>
---@field heading string "Day 1 — Morning"
---@field entries {version: integer, agent: string, content: string, merged: boolean, at: integer}[]

--- Puts an entry at the end of a slot.
---@param slot table<string, string|integer>
---@param agent string
---@param content string
---@return integer? version
---@return hocket.Error?
function document:append(slot, agent, content) end

--- Puts one text in the place of the entries that the slot had at `base_version`. Entries that came later
--- stay, behind it. What the same author merged before, from no later version, is replaced as well.
---@param slot table<string, string|integer>
---@param author string
---@param content string
---@param base_version integer The version that the author has read.
---@param only? integer[] Versions: exactly the entries that these brought are replaced, where the author has not read all.
---@return integer? version
---@return hocket.Error?
function document:consolidate(slot, author, content, base_version, only) end

--- What stands beside the entry that a version brought, in its slot, by now: after a consolidation what its author
--- had not read.
---@param version integer
---@return {version: integer, agent: string, merged: boolean}[]? entries
---@return hocket.Error?
function document:beside(version) end

--- The document as text: clean, or with a tag `[agent]` in front of each entry.
---@param options? {version?: integer, tagged?: boolean} version: the latest when it is left out.
---@return string? text
---@return hocket.Error?
function document:render(options) end

--- One entry as `render` shows it with its tag; nil when there is no such entry, or a merged text has replaced it.
---@param version integer The version that brought it.
---@return string?
function document:tagged(version) end

--- The slots that have entries, in the schema's order.
---@param version? integer
---@return hocket.Slot[]? slots
---@return hocket.Error?
function document:slots(version) end

--- The versions after `after`, without contents.
---@param after? integer
---@param count? integer
---@return {version: integer, author: string, change_description: string, time: string}[]
function document:history(after, count) end

--- The latest version; 0 for the empty document.
---@return integer
function document:version() end

--- The list that the document was made with.
---@return table[]
---@internal
function document:dimensions() end

--- Records changes as events from now on. A run does this by itself.
---@param journal hocket.Journal
---@param number? integer Which of the run's documents it is, from 1.
---@internal
function document:attach(journal, number) end

--- Which of its run's documents it is, from 1: `document` in events. nil before a run has taken it.
---@return integer?
function document:number() end

--- Applies one record of a journal, so that a document can be rebuilt.
---@param record string One line.
---@return boolean? applied false when it is no record of a document, or of another one.
---@return hocket.Error?
---@internal
function document:replay(record) end

--- The record that brought a version, as replay takes it.
---@param version integer
---@return string record
---@internal
function document:record(version) end

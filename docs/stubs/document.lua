---@meta

--- A document that several agents write. Each change creates a version, and `render` shows any version. `#document` is the
--- number of entries. A slot is a table with one value for each dimension.
---@class hocket.Document
local document = {}

---@class hocket.Slot
---@field slot table<string, string|integer>
---@field heading string "Day 1 — Morning"
---@field entries {version: integer, agent: string, content: string, merged: boolean, at: integer}[]

--- Appends an entry to a slot.
---@param slot table<string, string|integer>
---@param agent string
---@param content string
---@return integer? version
---@return hocket.Error?
function document:append(slot, agent, content) end

--- Replaces the entries that the slot had at `base_version` by one text. Later entries stay, after the text. It also
--- replaces an earlier merged text of the same author.
---@param slot table<string, string|integer>
---@param author string
---@param content string
---@param base_version integer The version that the author read.
---@param only? integer[] Versions. Only the entries of these versions are replaced; for an author who has not read all.
---@return integer? version
---@return hocket.Error?
function document:consolidate(slot, author, content, base_version, only) end

--- The other entries that are now in the slot of this version's entry. After a consolidation these are the entries that
--- its author did not read.
---@param version integer
---@return {version: integer, agent: string, merged: boolean}[]? entries
---@return hocket.Error?
function document:beside(version) end

--- The document as text. `tagged` puts `[agent]` before each entry.
---@param options? {version?: integer, tagged?: boolean} version: default is the latest.
---@return string? text
---@return hocket.Error?
function document:render(options) end

--- One entry with its tag, as `render` shows it. It is nil if no such entry exists, or if a merged text replaced it.
---@param version integer The version that added it.
---@return string?
function document:tagged(version) end

--- The slots that have entries, in the schema's order.
---@param version? integer
---@return hocket.Slot[]? slots
---@return hocket.Error?
function document:slots(version) end

--- Lists the versions after `after`, without their contents.
---@param after? integer
---@param count? integer
---@return {version: integer, author: string, change_description: string, time: string}[]
function document:history(after, count) end

--- The latest version. An empty document has version 0.
---@return integer
function document:version() end

--- The schema that the document was created with.
---@return table[]
---@internal
function document:dimensions() end

--- Records changes as events from now on. A run calls this itself.
---@param journal hocket.Journal
---@param number? integer The document's number within the run, from 1.
---@internal
function document:attach(journal, number) end

--- The document's number within its run, from 1. Events have it as `document`. It is nil until a run uses the document.
---@return integer?
function document:number() end

--- Applies one record of a journal. This rebuilds a document from its records.
---@param record string One line.
---@return boolean? applied false: the record does not concern a document, or concerns another one.
---@return hocket.Error?
---@internal
function document:replay(record) end

--- The record that created a version, in the form that replay reads.
---@param version integer
---@return string record
---@internal
function document:record(version) end

--- Whether the code of a run of the store may run here. A run brings the files that it has read: scripts and their modules, providers.yaml,
--- MCP servers. One that this user has begun on this machine (run/proof.lua) continues with them. Any other one was imported, loaded from
--- a save, or put into the store by somebody else, and its files are a stranger's:
---
---     trust = true                    its code may run: hocket resume --trust, the embedder's {"trust": true}
---     a program that embeds hocket    code that is, byte for byte, what stands at its path now: the program's own files
---     everybody else                  the same in a folder that this user has trusted, or code that was asked about (trust.ask_run)
---     otherwise                       refused, before anything of the run is done
---
--- This is the one way in: resume, fork, replay, load, workers, HTTP, MCP, ACP and A2A begin here (host/run/consent.c). What is compared is
--- the text that will run. What a run reads later, from disk, passes the same rule when it is compiled, declared or started (`may_run`).
local agents = require "hocket.internal.base.lazy" "hocket.agent"
local bundle_files = require "hocket.internal.base.sources.bundle"
local consent = require "hocket.internal.run.consent"
local edition = require "hocket.internal.base.edition"
local effects = require "hocket.internal.base.effects"
local fiber = require "hocket.internal.core.fiber"
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local kept = require "hocket.internal.core.kept"
local mcp_servers = require "hocket.internal.base.lazy" "hocket.internal.agents.mcp_servers"
local pack = require "hocket.internal.base.lazy" "hocket.internal.base.pack"
local proof = require "hocket.internal.run.proof"
local script = require "hocket.internal.base.script"
local sources = require "hocket.internal.base.sources"
local system = require "hocket.internal.core.system"
local trust = require "hocket.internal.base.lazy" "hocket.internal.runner.trust"

local stored_code = {}

--- Which code may run in a run that is another's: its option `code`. nil: all of it.
local OWN, TRUSTED = "own", "trusted"

---@class hocket.CodePiece
---@field kind "script"|"data"|"providers"|"servers"
---@field path string
---@field text string
---@field servers? hocket.McpServer[]

-- ---- What a run brings -----------------------------------------------------------------------------

-- Endings of texts that nobody runs: agents, what they include, their data. All others may be code.
local texts = { md = true, ai = true, txt = true, json = true, tmpl = true }

-- What sources.read answers from a file of the run; nil: it is none.
local function read_of(name, text)
  local path = bundle_files.path_of(name)
  if path then return path, text end
  path = name:match "^%d+ read (.*)$"
  if not path then return nil end
  if text:sub(1, 1) == "t" then return path, text:sub(2) end
  local ok, value = pcall(pack.decode, text:sub(2))
  if ok and type(value) == "string" then return path, value end
end

-- The servers that a text names, with what is to be started or asked; false: it may, and cannot be read.
local function servers_of(path, text)
  if mcp_servers.is_file(path) then
    local list, by_name = {}, mcp_servers.read_text(text, path)
    for _, one in pairs(by_name or {}) do list[#list + 1] = one end
    return by_name ~= nil and list
  end
  local list, def = {}, agents.has_frontmatter(text) and agents.parse(text, path)
  for _, one in ipairs(def and def.mcp or {}) do
    if not one.by_name then list[#list + 1] = one end
  end
  return list
end

local function kind_of(path, text)
  if path:match "[^/]*$":lower() == "providers.yaml" then return "providers" end
  local list = servers_of(path, text)
  if not list or list[1] then return "servers", list end
  return texts[(path:match "%.(%w+)$" or ""):lower()] and "data" or "script"
end

local function is_before(a, b)
  if a.path ~= b.path then return a.path < b.path end
  return a.text < b.text
end

-- Everything that counts as code, sorted. Where a script runs it may run what it reads, too.
local function pieces(fed)
  local list, code, has_script = {}, {}, false
  for name, text in pairs(fed or {}) do
    local path, body = read_of(name, text)
    if path then
      local kind, servers = kind_of(path, body)
      list[#list + 1] = { kind = kind, path = path, text = body, servers = servers }
      has_script = has_script or kind == "script"
    end
  end
  for _, piece in ipairs(list) do
    if piece.kind ~= "data" or has_script and not piece.path:find "%.md$" and not piece.path:find "%.ai$" then code[#code + 1] = piece end
  end
  table.sort(code, is_before)
  return code
end

local function digest_of(list)
  local parts = {}
  for i, piece in ipairs(list) do parts[i] = piece.path .. "\0" .. system.digest(piece.text) end
  return system.digest(table.concat(parts, "\0"))
end

local function names_of(list)
  local names, seen = {}, {}
  for _, piece in ipairs(list) do
    if not seen[piece.path] then names[#names + 1] = piece.path end
    seen[piece.path] = true
  end
  return names
end

-- ---- What may run ----------------------------------------------------------------------------------------

local function has_servers(piece)
  for _, def in ipairs(piece.servers or {}) do
    if not trust.has_server(def, piece.text) then return false end
  end
  return piece.servers ~= false
end

local function is_trusted(piece, seen)
  if piece.kind == "providers" then return trust.has_providers(piece.path, piece.text) end
  if piece.kind == "servers" then return has_servers(piece) end
  return trust.has_text(piece.path, piece.text, seen)
end

-- The program's own file, or text: "buffer:NAME" is one, too.
local function is_own(piece)
  return fs.read(piece.path, #piece.text) == piece.text
end

local function unknown(list, code)
  local left, seen = {}, {}
  if trust.is_everything() then return left end
  for _, piece in ipairs(list) do
    local known
    if code == OWN then known = is_own(piece) else known = is_trusted(piece, seen) end
    if not known then left[#left + 1] = piece end
  end
  if left[1] and code == TRUSTED and trust.has_run(digest_of(list)) then return {} end
  return left
end

-- Which code may run, as whoever continues it says: a program that embeds hocket has files of its own; a client consents to nothing.
local function code_of(ours, given)
  if ours or given.trust == true and given.consent ~= false then return nil end
  return given.consent == nil and given.trust == nil and OWN or TRUSTED
end

-- ---- Before anything of it is done ---------------------------------------------------------------------------

local function read(text)
  local value = json.decode(text)
  return type(value) == "table" and not json.is_array(value) and value or {}
end

local function with_code(instead, code)
  local options = read(instead)
  options.code = code
  return json.encode(options)
end

--- A run of the store is to begin here: what holds for it (run/consent.lua), when its code may run. Raises an error with the code
--- "denied" where it may not.
---@param row {id: string, target: string, input?: string, options: string} Its edition of the built-in prompts has to be known here.
---@param given_text string What whoever continues it says: options, JSON.
---@param how "new"|"old"|"replay" new: nothing was done of it. replay: from its log alone.
---@param fed? table<string, string> Its files, by the names that the store has.
---@return string own Its options, JSON.
---@return string instead What is to stand in their place.
---@return string? wish To be said to it when it is live.
function stored_code.begin(row, given_text, how, fed)
  local known, newer = edition.check(read(row.options))
  if not known then error(newer, 0) end
  local ours = proof.is_ours(row)
  local given = read(given_text)
  local code = code_of(ours, given)
  local left = code and unknown(pieces(fed), code) or {}
  if left[1] then
    local _, err = trust.refuse_run(row.id, names_of(left), given.consent == false)
    error(err, 0)
  end
  if how == "new" and fed then sources.forget_permissions(fed) end
  if how == "replay" then return row.options, with_code("{}", code) end
  local own, instead, wish = consent.decide(row, given_text, how == "new", ours)
  return own, code and with_code(instead, code) or instead, wish
end

--- Asks a person about the code of a run, where it is not trusted. Yes is remembered for this code.
---@async
---@param row {id: string, options?: string}
---@param fed table<string, string>
---@return true? admitted
---@return hocket.Error?
function stored_code.ask(row, fed)
  local list = pieces(fed)
  local left = proof.is_ours(row) and {} or unknown(list, TRUSTED)
  if not left[1] then return true end
  return trust.ask_run(row.id, names_of(list), digest_of(list))
end

-- ---- What is read later -----------------------------------------------------------------------------------------

--- Notes what was looked at before the run began, whose code runs.
---@param run hocket.Run
function stored_code.note(run)
  local set = {}
  for _, piece in ipairs(pieces(kept.fed())) do set[system.digest(piece.text)] = true end
  run.admitted_code = set
end

--- Whether a text may run in the run whose code runs: as a script, as a file of providers, as one of servers.
---@param path string
---@param text string
---@param kind? "providers"|"servers"
---@return true? admitted
---@return hocket.Error?
function stored_code.may_run(path, text, kind)
  local context = fiber.context()
  local run = type(context) == "table" and context.run
  local code = run and run.options.code
  if not code or run.admitted_code[system.digest(text)] then return true end
  local piece, left = { kind = kind or "script", path = path, text = text, servers = kind == "servers" and servers_of(path, text) or nil }, nil
  effects.aside(function() left = unknown({ piece }, code) end) -- what is trusted now is no part of its log
  if not left[1] then return true end
  return trust.refuse_run(run.id, { path }, run.for_clients == true)
end

script.set_guard(function(path, text)
  local ok, err = stored_code.may_run(path, text)
  return ok, err and err.message
end)

--- The same of the file that names an MCP server.
---@param def hocket.McpServer
---@return true? admitted
---@return hocket.Error?
function stored_code.may_start(def)
  local text = def.file and sources.read(def.file)
  if not text then return true end -- it was given to the run by whoever continues it
  return stored_code.may_run(def.file, text, "servers")
end

return stored_code

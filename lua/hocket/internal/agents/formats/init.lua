--- Agents as other programs write them: Claude Code, GitHub Copilot and VS Code, opencode, Gemini CLI, netdata's ai-agent. One reader for
--- each format turns the front matter into keys of ours; from there on it is read and checked as any other:
---
---     text ──> read.text ──> by its place, or since it is none of ours and has their keys ──> formats.translate
---                                └──────────────── keys.lua checks ours and what comes out ───────────┘
---
--- A format is a table of keys, each with what becomes of it: the docs and `hocket check --explain` are made from it. A key that
--- narrows is honoured, or the file is refused; one that would widen never does; the rest is passed over with a warning.
local json = require "hocket.json"
local lazy = require "hocket.internal.base.lazy"
local models = require "hocket.internal.agents.formats.models"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local tool = require "hocket.tool"
local tools = require "hocket.internal.agents.formats.tools"
local translation = require "hocket.internal.agents.formats.translation"

local formats = {}

--- Their names, in the order in which they are tried.
formats.names = { "claude", "copilot", "opencode", "gemini", "netdata" }

--- Hidden folders of a project in which they are.
formats.FOLDERS = { ".claude/agents", ".github/agents", ".opencode/agent", ".opencode/agents", ".gemini/agents" }

---@class hocket.Format
---@field title string The program.
---@field files string[] Where its agents are, for people.
---@field no_tools "assistant"|"none" What an agent has that names none.
---@field project? boolean It reads the instructions of the project.
---@field prompt? fun(text: string): string What its program puts into prompts, as hocket has it.
---@field keys {[1]: string, doc: string, read?: fun(t: hocket.Translation, value: any)}[]

local readers = {
  claude = lazy "hocket.internal.agents.formats.claude", copilot = lazy "hocket.internal.agents.formats.copilot",
  opencode = lazy "hocket.internal.agents.formats.opencode", gemini = lazy "hocket.internal.agents.formats.gemini",
  netdata = lazy "hocket.internal.agents.formats.netdata",
}

---@param name string
---@return hocket.Format
function formats.get(name)
  return readers[name]
end

--- What is wrong with the name of a format, as a person says it; nil: it is one.
---@param name any
---@return string?
function formats.wrong(name)
  if type(name) == "string" and readers[name] then return nil end
  return ("there is no format '%s' (there are: %s)"):format(tostring(name), table.concat(formats.names, ", "))
end

--- A folder of agents in `agents:` with its format before it: "claude:theirs/".
---@param text string
---@return string path
---@return string? format
function formats.split(text)
  local name, path = text:match "^(%l+):(.+)$"
  if name and readers[name] then return path, name end
  return text
end

-- ---- Which format -----------------------------------------------------------------------------------

--- The format that a file has by its place.
---@param path string
---@return string? name
function formats.of_place(path)
  local at = "/" .. path
  if at:find "%.ai$" then return "netdata" end
  if at:find("/.claude/agents/", 1, true) then return "claude" end
  if at:find "%.agent%.md$" or at:find "%.chatmode%.md$" or at:find("/.github/agents/", 1, true) then return "copilot" end
  if at:find "/%.?opencode/agents?/" then return "opencode" end
  if at:find("/.gemini/agents/", 1, true) then return "gemini" end
end

local refused_endings = { toml = "an agent or a command in TOML, as Codex and Gemini CLI have them", mdc = "a rule of Cursor", prompty = "a Prompty file" }

--- Names the format of a file that hocket cannot read as an agent.
---@param path string
---@return string? what
function formats.refused(path)
  return refused_endings[path:match "%.(%a+)$" or ""]
end

-- Keys that no other format has, by what shows it. Keys of ours stand against it.
local shown_by = {
  claude = { "color", "disallowedTools", "permissionMode", "maxTurns", "mcpServers", "initialPrompt", "isolation" },
  copilot = { "handoffs", "argument-hint", "user-invocable", "user-invokable", "disable-model-invocation", "mcp-servers" },
  opencode = { "permission", "permissions", "mode", "steps", "maxSteps" },
  gemini = { "kind", "timeout_mins" },
}

local ours_alone = { "variables", "router", "fallback", "advisors", "team", "document", "task_limit", "approve", "approve_plan", "explore", "on_failure", "until", "guards", "budget", "per_call",
  "context", "body", "server_tools", "warm_cache", "mcp", "project", "input", "output", "pool", "sandbox", "handoff", "parallel", "max_tool_calls", "retries" }

local function has_any(raw, names)
  for _, name in ipairs(names) do
    if raw[name] ~= nil then return true end
  end
  return false
end

-- `tools: Read, Grep`: a text, of names that are tools there and none here.
local function has_their_tools(raw)
  if type(raw.tools) ~= "string" then return false end
  for name in raw.tools:gmatch "[%w_]+" do
    if name:find "^%u" and tools.given(name, "claude") or name:find "^mcp__" then return true end
  end
  return false
end

-- `tools: [execute_command]`: a list with names that only hocket has.
local function has_our_tools(raw)
  for _, name in ipairs(type(raw.tools) == "table" and raw.tools or {}) do
    if type(name) == "string" and tool.is_own(name) and not tools.given(name, "claude") then return true end
  end
  return false
end

--- The format that a front matter has by its keys. Asked of files only that are none of ours.
---@param raw table
---@return string? name
function formats.of_keys(raw)
  if has_any(raw, ours_alone) or has_our_tools(raw) then return nil end
  for _, name in ipairs(formats.names) do
    if shown_by[name] and has_any(raw, shown_by[name]) then return name end
  end
  if has_their_tools(raw) or models.is_alias(raw.model) then return "claude" end
end

-- ---- The whole ----------------------------------------------------------------------------------------

--- Words in names of keys that say that something is narrowed: such a key is never passed over.
local narrowing = { "deny", "denied", "disallow", "forbid", "block", "restrict", "exclude", "permission", "sandbox", "readonly", "read_only", "allowed", "limit", "approval" }

local function seems_to_narrow(key)
  local lower = key:lower():gsub("%-", "_")
  for _, word in ipairs(narrowing) do
    if lower:find(word, 1, true) then return true end
  end
  return false
end

local function take_unknown(self, key, value, title)
  self.key = key
  if seems_to_narrow(key) and value ~= false and value ~= json.null then
    self:refuse("is no key of %s that hocket knows, and seems to restrict the agent: remove it, or write what it means with keys that are known", title)
  else
    self:warn("is no key that hocket knows of %s: it is passed over", title)
  end
end

--- Reads a front matter of another program's.
---@param name string The format.
---@param raw table
---@param file string
---@param assistant fun(): string[] The tools of the built-in assistant.
---@return hocket.Translation
function formats.translate(name, raw, file, assistant)
  local format = formats.get(name)
  local self = translation.new(name, file)
  self.prompt = format.prompt
  local known = {}
  for _, key in ipairs(format.keys) do
    local value = raw[key[1]]
    known[key[1]], self.key = true, key[1]
    if value ~= nil and key.read then key.read(self, value, raw)
    elseif value ~= nil and not key.passed then self:warn("is passed over: %s", key.doc)
    elseif value ~= nil then self:note("%s", key.doc) end
  end
  for _, key in ipairs(sorted_keys(raw)) do
    if not known[key] then take_unknown(self, tostring(key), raw[key], format.title) end
  end
  self.key = nil
  if not self.keys.name then self:name(translation.base(file)) end
  self:settle(format, assistant)
  if format.project and not self.no_project then self.keys.project = true end
  return self
end

return formats

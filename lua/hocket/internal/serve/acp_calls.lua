--- Tool calls as editors show them (Agent Client Protocol): a title, what kind of thing it is, which files, what would change there.
---
---     watch_calls ──> tool_call {pending} ──> (permission) ──> begins: {in_progress, diff} ──> ended: {completed | failed, text}
local fs = require "hocket.internal.core.fs"
local json = require "hocket.json"
local sanitize = require "hocket.internal.base.sanitize"
local truncate = require "hocket.internal.base.truncate"

local acp_calls = {}

--- Bytes of a title, of a result, of what a model asked for; of each text of a diff.
local MAX_TITLE, MAX_RESULT, MAX_INPUT, MAX_DIFF = 200, 64 << 10, 64 << 10, 1 << 20

local by_name = {
  read_file = "read", read_files = "read", view_image = "read", list_directory = "read", get_file_info = "read", read_document = "read", read_tasks = "read",
  search_files = "search", web_search = "search", search_tools = "search", write_file = "edit", edit_file = "edit", write_section = "edit",
  move_file = "move", execute_command = "execute", execute_python = "execute", execute_javascript = "execute", execute_lua = "execute", web_fetch = "fetch",
  present_plan = "switch_mode", todo = "think",
}

local by_effect = { run = "execute", write = "edit", fetch = "fetch", read = "read" }

local function kind_of(one)
  if by_name[one.name] then return by_name[one.name] end
  for _, effect in ipairs { "run", "write", "fetch", "read" } do
    for _, what in ipairs(one.effects or {}) do
      if what == effect then return by_effect[effect] end
    end
  end
  return "other"
end

--- A text as a title: one line, without anything that is not seen.
---@param text string
---@return string
function acp_calls.title(text)
  return truncate(sanitize.text((text:gsub("%s+", " "))), MAX_TITLE, "…")
end

local function title_of(one, args, agent)
  local about = one.subject and args[one.subject] or args.command
  if type(about) == "table" then about = table.concat(about, ", ") end
  local title = about and ("%s %s"):format(one.name, tostring(about)) or one.name
  return acp_calls.title(agent and ("%s: %s"):format(agent, title) or title)
end

-- Paths of arguments that are paths, as absolute ones.
local function locations_of(one, args, dir)
  local list = json.array {}
  if not dir then return nil end
  local names = one.places or one.subject == "path" and { path = true } or one.subject == "paths" and { paths = true } or {}
  for name in pairs(names) do
    for _, path in ipairs(type(args[name]) == "table" and args[name] or { args[name] }) do
      if type(path) == "string" then list[#list + 1] = { path = acp_calls.absolute(dir, path), line = math.type(args.first_line) == "integer" and args.first_line or nil } end
    end
  end
  table.sort(list, function(a, b) return a.path < b.path end)
  return #list > 0 and list or nil
end

--- A path below a directory as an absolute one.
---@param dir string
---@param path string
---@return string
function acp_calls.absolute(dir, path)
  if fs.is_absolute(path) then return path end
  return path == "." and dir or dir .. "/" .. path
end

local function bounded(args)
  local text = json.encode(args)
  return #text <= MAX_INPUT and args or { cut = truncate(text, MAX_INPUT) }
end

--- What a call is, before anything came of it.
---@param id string
---@param one hocket.Tool
---@param args table
---@param agent? string Who calls, where it is not the one talked with.
---@param dir? string The run's folder.
---@return table call As the protocol has it, with `status` "pending".
function acp_calls.describe(id, one, args, agent, dir)
  return {
    toolCallId = id, title = title_of(one, args, agent), kind = kind_of(one), status = "pending", rawInput = bounded(args), locations = locations_of(one, args, dir),
  }
end

-- The tool says what it would do to a file; who is cancelled in there is cancelled where he waits next as well.
local function preview_of(one, args)
  if not one.preview then return nil end
  local ok, made = pcall(one.preview, args)
  return ok and type(made) == "table" and type(made.path) == "string" and made or nil
end

--- What a call would change in a file, as its content; nil: nothing that could be shown.
---@async
---@param one hocket.Tool
---@param args table
---@param dir? string
---@return table[]?
function acp_calls.diff(one, args, dir)
  local made = dir and preview_of(one, args)
  if not made or not made.after or #made.after > MAX_DIFF or #(made.before or "") > MAX_DIFF then return nil end
  return json.array { {
    type = "diff", path = acp_calls.absolute(dir, made.path), oldText = made.kind == "create" and json.null or made.before or json.null, newText = made.after,
  } }
end

--- A text as the content of a call.
---@param text string
---@return table[]
function acp_calls.text(text)
  return json.array { { type = "content", content = { type = "text", text = truncate(text, MAX_RESULT, "\n[…]") } } }
end

return acp_calls

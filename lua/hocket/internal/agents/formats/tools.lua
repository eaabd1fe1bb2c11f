--- The tools of other programs by the names that they have there: the one table of what stands for them here. What an agent
--- is given is never more than its own program gives; what it is denied is never less.
local glob = require("hocket.internal.core.permission").glob
local sorted_keys = require "hocket.internal.base.sorted_keys"
local tool = require "hocket.tool"

local tools = {}

--- What an agent gets for a name. An empty list is part of another tool, or always there; `false` has no counterpart. A text
--- is a key that brings tools: "agents" (calls other agents) or "skills".
---@type table<string, string[]|string|false>
tools.gives = {
  -- files
  read = { "read_file", "view_image" }, read_file = { "read_file" }, readfile = { "read_file" }, view = { "read_file" }, notebookread = { "read_file" },
  viewimage = { "view_image" }, read_many_files = { "read_files" }, readmanyfiles = { "read_files" },
  glob = { "search_files", "list_directory" }, grep = { "search_files" }, search_file_content = { "search_files" }, grep_search = { "search_files" },
  ls = { "list_directory" }, list = { "list_directory" }, list_directory = { "list_directory" }, listdirectory = { "list_directory" },
  codebase = { "search_files" }, usages = { "search_files" }, filesearch = { "search_files", "list_directory" }, textsearch = { "search_files" },
  findtestfiles = { "search_files" },
  edit = { "edit_file" }, multiedit = { "edit_file" }, notebookedit = { "edit_file" }, replace = { "edit_file" },
  editfiles = { "edit_file", "write_file" }, patch = { "edit_file", "write_file" }, apply_patch = { "edit_file", "write_file" },
  write = { "write_file" }, write_file = { "write_file" }, createfile = { "write_file" }, createdirectory = { "write_file" },
  -- programs
  bash = { "execute_command" }, shell = { "execute_command" }, powershell = { "execute_command" }, run_shell_command = { "execute_command" },
  execute = { "execute_command" }, runcommands = { "execute_command" }, runinterminal = { "execute_command" }, terminalcommand = { "execute_command" },
  terminal = { "execute_command" }, bashoutput = {}, killshell = {}, killbash = {}, getterminaloutput = {},
  -- the web
  webfetch = { "web_fetch" }, web_fetch = { "web_fetch" }, fetch = { "web_fetch" }, websearch = { "web_search" }, google_web_search = { "web_search" },
  -- people, agents, skills
  askuserquestion = { "ask_user" }, askquestions = { "ask_user" }, ask_user = { "ask_user" }, question = { "ask_user" },
  task = "agents", agent = "agents", runsubagent = "agents", ["custom-agent"] = "agents",
  skill = "skills", activate_skill = "skills", slashcommand = "skills",
}

--- Where a program means more by a name than the others do.
---@type table<string, table<string, string[]|string|false>>
tools.also = {
  copilot = {
    edit = { "edit_file", "write_file" }, search = { "search_files", "list_directory" }, web = { "web_fetch", "web_search" },
    todo = false, vscode = false,
  },
}

--- What denying a name denies, where that is more than the name gives.
---@type table<string, string[]>
tools.denies = {
  read = { "read_file", "read_files", "view_image", "open_file" }, edit = { "edit_file", "write_file", "move_file" },
  bash = { "execute_command", "execute_python", "execute_javascript", "execute_lua", "lua" }, list = { "list_directory" },
  web = { "web_fetch", "web_search" },
}
for _, name in ipairs { "shell", "execute", "run_shell_command", "runcommands", "runinterminal", "powershell", "terminal", "terminalcommand" } do
  tools.denies[name] = tools.denies.bash
end

--- Our tools that change nothing, for modes in which an agent only looks and plans.
tools.reading = { read_file = true, read_files = true, view_image = true, list_directory = true, get_file_info = true, search_files = true,
  web_fetch = true, web_search = true, ask_user = true }

--- Our tools that such a mode denies, whoever else would give them.
tools.changing = { "write_file", "edit_file", "move_file", "execute_command", "execute_python", "execute_javascript", "execute_lua", "lua" }

-- "edit/editFiles" is a member of a group: what it gives is its own, never the group's.
local function find(name, format)
  local also, lower = tools.also[format] or {}, name:lower()
  if also[lower] ~= nil then return also[lower] end
  if tools.gives[lower] ~= nil then return tools.gives[lower] end
  local member = lower:match "^[%w_]+/([%w_-]+)$"
  return member and tools.gives[member]
end

--- What stands for a name.
---@param name string
---@param format string
---@return string[]|string|nil given nil: there is no counterpart.
function tools.given(name, format)
  return find(name, format) or nil
end

--- Our tools that are denied with a name: also with a name of ours.
---@param name string
---@param format string
---@return string[]|string|nil
function tools.denied(name, format)
  local lower = name:lower()
  return tools.denies[lower] or tools.denies[lower:match "/([%w_-]+)$" or ""] or tools.given(name, format) or tool.is_own(name) and { name } or nil
end

--- The names that a glob stands for; of another name itself. Families of tools, such as `workflow:NAME`, are no names in a rule.
---@param name string
---@return string[]
function tools.names_like(name)
  if not name:find "[*?]" or name:find "^mcp__" then return { name } end
  local list, lower = {}, name:lower()
  for _, names in ipairs { tools.gives, tools.denies, tool.own_names() } do
    for _, one in ipairs(sorted_keys(names)) do
      if glob(lower, one) and not one:find(":", 1, true) then list[#list + 1] = one end
    end
  end
  return list
end

--- Groups of tools of VS Code: "read/problems" is no tool of a server.
local groups = { read = true, edit = true, search = true, execute = true, web = true, agent = true, vscode = true, todo = true, browser = true, runcommands = true }

--- A server of MCP and its tool, as other programs write them: mcp__SERVER__TOOL, mcp_SERVER_TOOL, SERVER/TOOL.
---@param name string
---@param format string
---@return string? server
---@return string? tool "*": all of them.
function tools.of_server(name, format)
  local server, one = name:match "^mcp__(.-)__(.+)$"
  if not server and name:find "^mcp__" then server, one = name:sub(6), "*" end
  if not server and format == "gemini" then server, one = name:match "^mcp_([%w-]+)_(.+)$" end
  if not server and format == "copilot" then server, one = name:match "^([%w._-]+)/(.+)$" end
  if server and format == "copilot" and groups[server:lower()] then return nil end
  if server and #server > 0 then return server, one end
end

return tools

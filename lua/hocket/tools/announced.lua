--- The tools that agent files may name and the door knows, whether or not this version has them:
--- what a module registers under such a name takes the place of the announcement. Modules of tools are
--- loaded when an agent first has one of theirs.
local tool = require "hocket.tool"

local announced = {
  { "web_search", "Search the web." },
  { "web_fetch", "Fetch a page." },
}

local files = {
  "search_files", "read_file", "read_files", "list_directory", "get_file_info", "write_file", "edit_file", "move_file", "open_file",
}

for _, name in ipairs(files) do
  tool.set(name, function(env) return require("hocket.tools.file").make(name, env) end)
end
tool.set("execute_command", function(env) return require("hocket.tools.shell").make(env) end)
for _, name in ipairs { "execute_python", "execute_javascript", "execute_lua" } do
  tool.set(name, function(env) return require("hocket.tools.code").make(name, env) end)
end
for _, one in ipairs(announced) do tool.announce(one[1], one[2]) end

return announced

--- The tools that agent files may name and the door knows, whether or not this version has them:
--- what a module registers under such a name takes the place of the announcement.
local tool = require "hocket.tool"

local announced = {
  { "search_files", "Find files by name or content." },
  { "read_file", "Read a file." },
  { "read_files", "Read several files." },
  { "list_directory", "List a directory." },
  { "get_file_info", "Say what a file is: size, kind, time of its last change." },
  { "write_file", "Write a file that was read before, or a new one." },
  { "move_file", "Move or rename a file that was read before." },
  { "open_file", "Open a file for the user." },
  { "execute_command", "Run a command." },
  { "web_search", "Search the web." },
  { "web_fetch", "Fetch a page." },
  { "execute_python", "Run Python code." },
  { "execute_javascript", "Run JavaScript code." },
}

for _, one in ipairs(announced) do tool.announce(one[1], one[2]) end

return announced

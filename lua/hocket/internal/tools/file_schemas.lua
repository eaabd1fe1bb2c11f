--- What models are told of the tools for files.
local json = require "hocket.json"

local function object(required, properties)
  return { type = "object", required = #required > 0 and required or nil, properties = json.object(properties), additionalProperties = false }
end

local function path(description)
  return { type = "string", minLength = 1, maxLength = 4095, description = description }
end

local a_path = "Path of the file, relative to the project's folder, as in src/main.c."

return {
  search_files = {
    description = "Find files by name, or lines in files by content, below a folder. With `content` the result is path:line:text, "
      .. "one a line; without it, paths. What .gitignore names, .git and binary files are left out. Use this to find out where "
      .. "something is, instead of guessing paths or reading many files.",
    parameters = object({}, {
      { "content", { type = "string", minLength = 1, maxLength = 4096, description = "What to look for in the files: a regular expression (PCRE2), matched line by line, as in 'func\\w+\\('." } },
      { "glob", { type = "string", minLength = 1, maxLength = 1000, description = "Which files: '*.c' by name in any folder; with a slash the whole path below `path`, as in 'src/**/*.c'." } },
      { "path", path "The folder (or the file) to search in. Default: the whole project." },
      { "literal", { type = "boolean", description = "Take `content` as plain text." } },
      { "ignore_case", { type = "boolean", description = "Upper and lower case are the same." } },
      { "include_ignored", { type = "boolean", description = "Search what .gitignore names as well." } },
      { "max_results", { type = "integer", minimum = 1, maximum = 2000, description = "At most so many lines or paths. Default: 200." } },
    }),
  },
  read_file = {
    description = "Read a text file, or a part of it. Long files come in parts: the last line of the result says where to go on. "
      .. "A file has to be read before it can be changed.",
    parameters = object({ "path" }, {
      { "path", path(a_path) },
      { "first_line", { type = "integer", minimum = 1, description = "Begin with this line; the first is 1." } },
      { "lines", { type = "integer", minimum = 1, maximum = 2000, description = "At most so many lines. Default: 2000." } },
    }),
  },
  read_files = {
    description = "Read several text files at once, up to 16 KiB of each. Each stands in a frame of its own with its path.",
    parameters = object({ "paths" }, {
      { "paths", { type = "array", minItems = 1, maxItems = 20, items = path(a_path), description = "The files' paths." } },
    }),
  },
  list_directory = {
    description = "List what is in one folder: names with sizes, folders with a slash at the end.",
    parameters = object({}, { { "path", path "The folder. Default: the project's own." } }),
  },
  get_file_info = {
    description = "Say what a path is (file, directory, link), how large, when it was changed, and its mode, without reading it.",
    parameters = object({ "path" }, { { "path", path(a_path) } }),
  },
  view_image = {
    description = "Look at a picture (PNG, JPEG, GIF, WebP), or at a PDF. You are shown it after the result.",
    parameters = object({ "path" }, { { "path", path(a_path) } }),
  },
  write_file = {
    description = "Write a whole file: a new one, or in place of one that was read whole in this task. Folders are made. To change a "
      .. "part of a file use edit_file.",
    parameters = object({ "path", "content" }, {
      { "path", path(a_path) },
      { "content", { type = "string", description = "All of the new content." } },
    }),
  },
  edit_file = {
    description = "Replace a piece of a file that was read in this task. `old_text` has to occur exactly once, the same to the letter.",
    parameters = object({ "path", "old_text", "new_text" }, {
      { "path", path(a_path) },
      { "old_text", { type = "string", minLength = 1, description = "The piece to replace, with enough around it to occur only once." } },
      { "new_text", { type = "string", description = "What is to stand there; empty to take the piece out." } },
      { "replace_all", { type = "boolean", description = "Replace every occurrence." } },
    }),
  },
  move_file = {
    description = "Move or rename a file or a folder. Folders on the way are made. What is at the new place already is replaced only "
      .. "when it was read in this task.",
    parameters = object({ "from", "to" }, { { "from", path "Where it is." }, { "to", path "Its whole new path." } }),
  },
  open_file = {
    description = "Show a file to the user in their own program. The user is asked first. It gives no content back: to see it yourself use read_file.",
    parameters = object({ "path" }, { { "path", path(a_path) } }),
  },
}

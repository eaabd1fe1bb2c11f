--- What models read about the tools for files.
local json = require "hocket.json"

local function object(required, properties)
  return { type = "object", required = #required > 0 and required or nil, properties = json.object(properties), additionalProperties = false }
end

local function path(description)
  return { type = "string", minLength = 1, maxLength = 4095, description = description }
end

return {
  search_files = {
    description = "Find files by name, or lines in files by content, below a folder.",
    parameters = object({}, {
      { "content", { type = "string", minLength = 1, maxLength = 4096, description = "A regular expression for lines" } },
      { "glob", { type = "string", minLength = 1, maxLength = 1000, description = "As in *.c or src/**/*.c" } },
      { "path", path() },
      { "literal", { type = "boolean" } },
      { "ignore_case", { type = "boolean" } },
      { "include_ignored", { type = "boolean" } },
      { "max_results", { type = "integer", minimum = 1, maximum = 2000 } },
    }),
  },
  read_file = {
    description = "Read a text file, or a part of it.",
    parameters = object({ "path" }, {
      { "path", path() },
      { "first_line", { type = "integer", minimum = 1 } },
      { "lines", { type = "integer", minimum = 1, maximum = 2000 } },
    }),
  },
  read_files = {
    description = "Read several text files at once.",
    parameters = object({ "paths" }, {
      { "paths", { type = "array", minItems = 1, maxItems = 20, items = path() } },
    }),
  },
  list_directory = {
    description = "List what is in one folder.",
    parameters = object({}, { { "path", path() } }),
  },
  get_file_info = {
    description = "Say what a path is, how large, and when it was changed.",
    parameters = object({ "path" }, { { "path", path() } }),
  },
  view_image = {
    description = "Look at a picture or a PDF.",
    parameters = object({ "path" }, { { "path", path() } }),
  },
  write_file = {
    description = "Write a whole file: a new one, or in place of one that was read whole in this task.",
    parameters = object({ "path", "content" }, {
      { "path", path() },
      { "content", { type = "string" } },
    }),
  },
  edit_file = {
    description = "Replace a piece of a file that was read in this task. `old_text` has to occur exactly once, the same to the letter.",
    parameters = object({ "path", "old_text", "new_text" }, {
      { "path", path() },
      { "old_text", { type = "string", minLength = 1 } },
      { "new_text", { type = "string" } },
      { "replace_all", { type = "boolean" } },
    }),
  },
  move_file = {
    description = "Move or rename a file or a folder.",
    parameters = object({ "from", "to" }, { { "from", path() }, { "to", path "Its whole new path" } }),
  },
  open_file = {
    description = "Show a file to the user in their own program. You see nothing of it: use read_file.",
    parameters = object({ "path" }, { { "path", path() } }),
  },
}

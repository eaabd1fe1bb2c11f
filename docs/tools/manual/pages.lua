--- The man pages: hocket(1), one for each command, and hocket-agent(5).
local agents = require "hocket.agent"
local described = require "manual.described"
local roff = require "manual.roff"

local pages = {}

local function page_name(command)
  return "hocket-" .. command.name:gsub(" ", "-")
end

local function head(name, section, about, build)
  return {
    '.\\" Made by docs/tools/manual.lua from what the program says of itself.',
    ('.TH "%s" "%s" "%s" "hocket %s" "hocket manual"'):format(roff.escape(name:upper()), section, build.date, build.version),
    ".SH NAME", ("%s \\- %s"):format(roff.escape(name), roff.escape(about)),
  }
end

-- References that are not to the page itself, sorted.
local function see_also(own, build, out)
  local list = { "hocket(1)", "hocket-agent(5)" }
  for _, command in ipairs(build.commands) do list[#list + 1] = page_name(command) .. "(1)" end
  table.sort(list)
  out[#out + 1] = ".SH SEE ALSO"
  local rest = {}
  for _, ref in ipairs(list) do
    if ref ~= own then rest[#rest + 1] = ref end
  end
  for i, ref in ipairs(rest) do
    local name, section = ref:match "^(.*)%((.)%)$"
    out[#out + 1] = (".BR %s (%s)%s"):format(roff.escape(name), section, i < #rest and "," or "")
  end
end

local function add_option(option, out)
  local names = {}
  for i, spelling in ipairs(described.spellings(option)) do names[i] = roff.bold(spelling) end
  out[#out + 1] = ".TP"
  out[#out + 1] = table.concat(names, ", ") .. (option.value and " " .. roff.italic(option.value) or "")
  out[#out + 1] = roff.text(option.help)
end

local function add_more(command, out)
  local title, text = command.more:match "^\n?([^\n]*):\n(.*)$"
  out[#out + 1] = (".SH %s"):format(roff.escape(title:gsub("%s*%b()", ""):gsub(",.*", ""):upper()))
  if command.name == "check" then -- they have a page
    out[#out + 1] = ".BR hocket\\-agent (5)\ndescribes them."
    return
  end
  local note = title:match "%((.*)%)"
  if note then
    out[#out + 1] = roff.text(note) .. "\n.PP"
  end
  roff.literal(text, out)
end

local function of_command(command, build)
  local name = page_name(command)
  local out = head(name, "1", command.summary, build)
  out[#out + 1] = ".SH SYNOPSIS"
  local usage = command.usage ~= "" and " " .. roff.italic(command.usage) or ""
  out[#out + 1] = ("%s [%s]%s"):format(roff.bold("hocket " .. command.name), roff.italic "OPTION…", usage)
  out[#out + 1] = ".SH DESCRIPTION"
  roff.body(command.about, out)
  out[#out + 1] = ".SH OPTIONS"
  for _, option in ipairs(command.options) do add_option(option, out) end
  if command.more then add_more(command, out) end
  if command.exit_codes then
    out[#out + 1] = ".SH EXIT STATUS"
    roff.columns(build.exit_codes, out)
  end
  out[#out + 1] = ".SH EXAMPLES"
  roff.literal(command.examples, out)
  see_also(name .. "(1)", build, out)
  return name .. ".1", table.concat(out, "\n") .. "\n"
end

local function of_program(build)
  local out = head("hocket", "1", "run teams of LLM agents", build)
  out[#out + 1] = ".SH SYNOPSIS\n" .. roff.bold "hocket" .. " " .. roff.italic "COMMAND [OPTION…] [ARGUMENT…]"
  out[#out + 1] = ".SH DESCRIPTION\n" .. roff.escape(build.about) .. "\nEach command has a page of its own."
  out[#out + 1] = ".SH COMMANDS"
  for _, command in ipairs(build.commands) do
    out[#out + 1] = (".TP\n.BR %s (1)\n%s"):format(roff.escape(page_name(command)), roff.text(command.summary))
  end
  out[#out + 1] = ".SH OPTIONS"
  add_option({ name = "help", letter = "h", help = "list the commands; behind a command: what it does and takes" }, out)
  add_option({ name = "version", letter = "V", help = "print the version" }, out)
  out[#out + 1] = ".SH EXIT STATUS"
  roff.columns(build.exit_codes, out)
  out[#out + 1] = ".SH EXAMPLES"
  roff.literal(build.examples, out)
  see_also("hocket(1)", build, out)
  return "hocket.1", table.concat(out, "\n") .. "\n"
end

local agent_example = [[
---
name: poet
description: Writes very short poems
model: openai/gpt-6.1-terra
variables:
  tongue: English
---
You write poems of two lines in {{tongue}}.
]]

local function add_key(key, out)
  local what = { key.kind .. (key.unit and ", in " .. key.unit or "") }
  if key.default then what[#what + 1] = "default: " .. key.default end
  if key.example then what[#what + 1] = "as in " .. key.example end
  out[#out + 1] = (".TP\n%s (%s)\n%s"):format(roff.bold(key.name), roff.escape(table.concat(what, "; ")), roff.text(key.doc))
end

local function of_agents(build)
  local out = head("hocket-agent", "5", "agent files of hocket", build)
  out[#out + 1] = ".SH DESCRIPTION"
  roff.body("An agent is a Markdown file: front matter in YAML between two lines '---', and below it the system prompt.\n"
    .. "{{NAME}} in the prompt is replaced by a variable, {{include FILE}} by another file.\n"
    .. "The file has at most 1 MiB, its front matter 64 KiB. Unknown keys are errors.", out)
  out[#out + 1] = ".PP\n.BR hocket\\-check (1)\nfinds mistakes in agent files."
  out[#out + 1] = ".SH KEYS\nA key inside of another one is written with a dot here: team.members is the key\nmembers of the map team."
  for _, group in ipairs(agents.keys()) do
    out[#out + 1] = ".SS " .. roff.escape(group.title)
    for _, key in ipairs(group.keys) do add_key(key, out) end
  end
  out[#out + 1] = ".SH EXAMPLES"
  roff.literal(agent_example, out)
  see_also("hocket-agent(5)", build, out)
  return "hocket-agent.5", table.concat(out, "\n") .. "\n"
end

--- All pages, by the names of their files.
---@param build table What `hocket help --json` says, and `date`.
---@return table<string, string>
function pages.make(build)
  local files = {}
  local function add(name, text) files[name] = text end
  add(of_program(build))
  for _, command in ipairs(build.commands) do add(of_command(command, build)) end
  add(of_agents(build))
  return files
end

return pages

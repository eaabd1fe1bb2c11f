--- Completions of bash, zsh and fish, from what the program says of itself. Each knows commands, options, and what
--- stands in the place of a value or a word; ids of runs and models are asked of `hocket runs` and `hocket models`,
--- which run no code of the folder. Names from outside are data: no shell evaluates them.
---
--- A rule names what is offered at one place: "+WORD" for a word, else the name of a source.
local agents = require "hocket.agent"
local described = require "manual.described"
local fs = require "hocket.fs"
local providers = require "hocket.providers"

local completions = {}

-- "'" in a text between two of them.
local function quoted(text)
  return "'" .. text:gsub("'", "'\\''") .. "'"
end

-- What is offered for a value; "any" where nothing is known.
local function rule(value)
  local list = {}
  for _, word in ipairs(value.words) do list[#list + 1] = "+" .. word end
  for _, source in ipairs(value.sources) do list[#list + 1] = source end
  return #list > 0 and table.concat(list, " ") or "any"
end

local function words_rule(words)
  return "+" .. table.concat(words, " +")
end

-- Calls add(word, place, rule, repeats) for each place of a command: `word` is "" where no first word decides.
local function each_place(command, add)
  local usage = described.usage(command.usage)
  if #usage.words > 0 then
    add("", 1, words_rule(usage.words) .. (usage.places[1] and " " .. rule(usage.places[1].value) or ""), false)
  end
  for i, place in ipairs(#usage.words == 0 and usage.places or {}) do add("", i, rule(place.value), place.repeats) end
  for _, word in ipairs(usage.words) do
    for i, place in ipairs(usage.after[word]) do add(word, i + 1, rule(place.value), place.repeats) end
  end
end

local function names_of(map)
  local names = {}
  for name in pairs(map) do names[#names + 1] = name end
  table.sort(names)
  return names
end

local function provider_names()
  local list = providers.names()
  table.sort(list)
  return table.concat(list, " ")
end

local function first_words(build)
  local list = {}
  for _, command in ipairs(build.commands) do
    if not command.name:find " " then list[#list + 1] = command end
  end
  return list
end

local function fill(template, values)
  return (template:gsub("@([A-Z_]+)@", function(name) return assert(values[name], name) end))
end

-- ---- bash ------------------------------------------------------------------------------------------

local function bash(build)
  local options, values, places = {}, {}, {}
  for _, command in ipairs(build.commands) do
    local all = {}
    for _, option in ipairs(command.options) do
      local spellings = described.spellings(option)
      table.move(spellings, 1, #spellings, #all + 1, all)
      for i, spelling in ipairs(spellings) do spellings[i] = quoted(command.name .. " " .. spelling) end
      if option.value then
        values[#values + 1] = ("    %s) REPLY=%s ;;"):format(table.concat(spellings, "|"), quoted(rule(described.value(option.value))))
      end
    end
    options[#options + 1] = ("    %s) REPLY=%s ;;"):format(quoted(command.name), quoted(table.concat(all, " ")))
    each_place(command, function(word, at, what, repeats)
      local pattern = quoted(("%s %s %s"):format(command.name, word, repeats and "" or at)) .. (repeats and "*" or "")
      places[#places + 1] = ("    %s) REPLY=%s ;;"):format(pattern, quoted(what))
    end)
  end
  return { OPTIONS = table.concat(options, "\n"), VALUES = table.concat(values, "\n"), PLACES = table.concat(places, "\n") }
end

local function common(build)
  local names = {}
  for i, command in ipairs(first_words(build)) do names[i] = command.name end
  return { COMMANDS = table.concat(names, " "), AGENTS = table.concat(names_of(agents.built_in()), " "), PROVIDERS = provider_names() }
end

-- ---- zsh -------------------------------------------------------------------------------------------

-- A text in a specification of _arguments, between "'".
local function zsh_text(text)
  return (text:gsub("[%[%]:\\]", "\\%0"):gsub("'", "'\\''"))
end

local function zsh_option(option)
  local spellings = described.spellings(option)
  local several = option.help:find "several times"
  local value = option.value and (":%s: _hocket_offer %s"):format(zsh_text(option.value), rule(described.value(option.value))) or ""
  local help = ("[%s]%s"):format(zsh_text(described.short(option.help)), value)
  local lines = {}
  for i, spelling in ipairs(spellings) do
    local others = several and "*" or #spellings > 1 and ("(%s)"):format(table.concat(spellings, " ")) or ""
    local ends = option.value and (spelling:find "^%-%-" and "=" or "+") or ""
    lines[i] = ("        '%s%s%s%s'"):format(others, spelling, ends, help)
  end
  return table.concat(lines, " \\\n")
end

local function zsh(build)
  local commands, cases, places = {}, {}, {}
  for i, command in ipairs(first_words(build)) do
    commands[i] = ("    '%s:%s'"):format(command.name, zsh_text(command.summary))
  end
  for _, command in ipairs(build.commands) do
    local lines = { ("    %s)"):format(quoted(command.name)), "      _arguments -s -S \\" }
    for _, option in ipairs(command.options) do lines[#lines + 1] = zsh_option(option) .. " \\" end
    lines[#lines + 1] = ("        '*: :{_hocket_place %s}'"):format(command.name:gsub(" ", "\\ "))
    lines[#lines + 1] = "      ;;"
    cases[#cases + 1] = table.concat(lines, "\n")
    each_place(command, function(word, at, what, repeats)
      local pattern = quoted(("%s %s %s"):format(command.name, word, repeats and "" or at)) .. (repeats and "*" or "")
      places[#places + 1] = ("    %s) _hocket_offer %s ;;"):format(pattern, what)
    end)
  end
  return { SUMMARIES = table.concat(commands, "\n"), CASES = table.concat(cases, "\n"), PLACES = table.concat(places, "\n") }
end

-- ---- fish ------------------------------------------------------------------------------------------

local function fish_quoted(text)
  return "'" .. text:gsub("[\\']", "\\%0") .. "'"
end

local function fish(build)
  local lines = {}
  local function line(...) lines[#lines + 1] = "complete -c hocket " .. string.format(...) end
  for _, command in ipairs(first_words(build)) do
    line("-n '__hocket_at_command' -a %s -d %s", command.name, fish_quoted(command.summary))
  end
  for _, command in ipairs(build.commands) do
    local within = ("-n '__hocket_within %s'"):format(fish_quoted(command.name):gsub("'", '"'))
    for _, option in ipairs(command.options) do
      line("%s %s-l %s%s -d %s", within, option.letter and ("-s %s "):format(option.letter) or "", option.name,
        option.value and (" -r -a '(__hocket_offer %s)'"):format(rule(described.value(option.value))) or "",
        fish_quoted(described.short(option.help)))
    end
  end
  local valued, places = {}, {}
  for _, command in ipairs(build.commands) do
    for _, option in ipairs(command.options) do
      for _, spelling in ipairs(option.value and described.spellings(option) or {}) do
        valued[#valued + 1] = quoted(command.name .. " " .. spelling)
      end
    end
    each_place(command, function(word, at, what, repeats)
      places[#places + 1] = ("        case %s\n            __hocket_offer %s"):format(
        quoted(("%s %s %s"):format(command.name, word, repeats and "*" or at)), what)
    end)
  end
  return { LINES = table.concat(lines, "\n"), VALUED = table.concat(valued, " "), PLACES = table.concat(places, "\n") }
end

-- ---- All -------------------------------------------------------------------------------------------

local here = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$"

--- The three files, by their names where they are installed.
---@param build table What `hocket help --json` says.
---@return table<string, string>
function completions.make(build)
  local files, shared = {}, common(build)
  for shell, values in pairs { bash = bash(build), zsh = zsh(build), fish = fish(build) } do
    for name, text in pairs(shared) do values[name] = text end
    local template = assert(fs.read(("%s/%s.in"):format(here, shell)))
    files[({ bash = "hocket", zsh = "_hocket", fish = "hocket.fish" })[shell]] = fill(template, values)
  end
  return files
end

return completions

--- Tools that are too many to be shown: the model gets one tool that finds them by words, and then the ones that it has found.
local tool = require "hocket.tool"
local truncate = require "hocket.internal.base.truncate"

local tool_search = {}

--- Found at once, if nothing else is said, and at most; bytes of names that the tool itself shows, and of a description.
local FOUND, MOST, NAMES, SHOWN = 5, 20, 1500, 200

-- Words of letters and digits, also of names_with_lines and namesLikeThis.
local function words_of(text)
  local list = {}
  for word in text:gsub("(%l)(%u)", "%1 %2"):lower():gmatch "[%w\128-\255]+" do list[#list + 1] = word end
  return list
end

local function index(list)
  local entries = {}
  for i, one in ipairs(list) do
    local in_name = {}
    for _, word in ipairs(words_of(one.name)) do in_name[word] = true end
    entries[i] = { tool = one, name = one.name:lower(), in_name = in_name, text = one.description:lower() }
  end
  return entries
end

local function score(entry, query, words)
  if entry.name == query then return 1000 end
  local sum = 0
  for _, word in ipairs(words) do
    if entry.in_name[word] then sum = sum + 10 elseif entry.name:find(word, 1, true) then sum = sum + 5 end
    if entry.text:find("%f[%w]" .. word .. "%f[%W]") then sum = sum + 2 elseif entry.text:find(word, 1, true) then sum = sum + 1 end
  end
  return sum
end

local function find(entries, query, most)
  local words, found = words_of(query), {}
  for i, entry in ipairs(entries) do
    local points = score(entry, query:lower(), words)
    if points > 0 then found[#found + 1] = { entry.tool, points, i } end
  end
  table.sort(found, function(a, b)
    if a[2] ~= b[2] then return a[2] > b[2] end
    return a[3] < b[3]
  end)
  local list = {}
  for i = 1, math.min(#found, most) do list[i] = found[i][1] end
  return list
end

local function names(list)
  local all = {}
  for i, one in ipairs(list) do all[i] = one.name end
  return truncate(table.concat(all, ", "), NAMES, " …")
end

-- Gives the session the ones that it does not have yet.
local function give(session, found)
  for _, one in ipairs(found) do
    if not session.permissions:tool(one.name) then session:give(one) end
  end
end

local parameters = {
  type = "object", required = { "query" }, additionalProperties = false, properties = {
    query = { type = "string", description = "Words of what the tool is to do, or a tool's name" },
    limit = { type = "integer", minimum = 1, maximum = MOST, description = ("How many at most (%d)"):format(FOUND) },
  },
}

--- The tool that finds others.
---@param list hocket.Tool[]
---@return hocket.Tool
function tool_search.tool(list)
  local entries = index(list)
  return tool.new {
    name = "search_tools", parameters = parameters, effects = {}, steps = true,
    description = ("Finds further tools by words; those found can be called from then on. There are %d: %s"):format(#list, names(list)),
    run = function(args, ctx)
      local found = find(entries, args.query, args.limit or FOUND)
      if #found == 0 then return "No tool has these words in its name or description. Try others." end
      give(ctx.session, found)
      local lines = { "These tools can be called now:" }
      for i, one in ipairs(found) do lines[i + 1] = ("- %s: %s"):format(one.name, truncate(one.description:match "^[^\n]*", SHOWN, " …")) end
      return table.concat(lines, "\n")
    end,
  }
end

return tool_search

--- One front matter of another program on its way to keys of ours: the keys so far, and notes on them.
local json = require "hocket.json"
local mcp_servers = require "hocket.internal.base.lazy" "hocket.internal.agents.mcp_servers"
local models = require "hocket.internal.agents.formats.models"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local tools = require "hocket.internal.agents.formats.tools"

local translation = {}

--- The most entries that a list may have.
local LONGEST = 1000
--- Servers that one file may bring.
local MOST_SERVERS = 20

---@class hocket.Translation
---@field format string
---@field file string
---@field keys table<string, any> Keys of ours.
---@field from table<string, string> By key of ours: the pointer that it came from.
---@field notes {severity: "error"|"warning"|"note", pointer: string, message: string, code?: string}[]
---@field wanted? string[] Names of its tools; nil: it names none.
---@field denied string[] Names that are denied.
---@field servers table<string, table<string, boolean>> By server of MCP: its tools that are wanted.
---@field inline hocket.McpServer[] Servers that are written out.
---@field calls? "any"|string[] The agents that it calls.
---@field reads_only? boolean
local Translation = {}
Translation.__index = Translation

local function note(self, severity, message)
  local key = self.key
  if key and severity ~= "note" then message = ("'%s' %s"):format(key, message) end
  self.notes[#self.notes + 1] = { severity = severity, key = key, pointer = key and "/" .. key:gsub("~", "~0"):gsub("/", "~1") or "", message = message }
  return self.notes[#self.notes]
end

--- Something is passed over, or is otherwise than in its program.
function Translation:warn(message, ...) note(self, "warning", message:format(...)) end

--- Something is as it should be, which a person may ask about.
function Translation:note(message, ...) note(self, "note", message:format(...)) end

--- The file cannot be read: what it narrows would not hold.
function Translation:refuse(message, ...) return note(self, "error", message:format(...)) end

--- Sets a key of ours.
function Translation:set(name, value)
  self.keys[name], self.from[name] = value, self.key and "/" .. self.key or ""
  self:note("is '%s'", name)
end

--- A list of texts, written as a list or as words with commas between them, in brackets or not.
---@return string[]
function Translation:list(value)
  local list = {}
  if type(value) == "string" then
    local depth, from = 0, 1
    for at, sign in (value .. ","):gmatch "()([(),])" do
      if sign == "(" then depth = depth + 1 elseif sign == ")" then depth = math.max(depth - 1, 0) end
      if sign == "," and depth == 0 then
        local one = value:sub(from, at - 1):match "^%s*(.*)$"
        local last = #one
        while last > 0 and one:find("^%s", last) do last = last - 1 end
        if last > 0 and #list < LONGEST then list[#list + 1] = one:sub(1, last) end
        from = at + 1
      end
    end
    if depth > 0 then list[#list + 1] = value:sub(from) end -- a bracket is not closed: whoever takes the entry says so
  elseif type(value) == "table" and json.is_array(value) then
    for i = 1, math.min(#value, LONGEST) do
      if type(value[i]) == "string" and value[i] ~= "" then list[#list + 1] = value[i] else self:warn("is a list of texts: one entry is left out") end
    end
  elseif value ~= json.null then
    self:refuse "must be a list of texts"
  end
  if type(value) == "table" and #value > LONGEST then self:refuse("has more than %d entries", LONGEST) end
  return list
end

--- A whole number for a key of ours that limits something: one that cannot be read is refused.
function Translation:limit(name, value, factor)
  if math.type(value) == "integer" and value > 0 then return self:set(name, value * (factor or 1)) end
  self:refuse "must be a whole number from 1 on"
end

--- A number for a key of ours, or a warning.
function Translation:number(name, value, low, high)
  if type(value) == "number" and value >= low and value <= high then return self:set(name, value) end
  self:warn("must be a number from %g to %g; the model's own value is used", low, high)
end

--- A text for a key of ours, or a warning.
function Translation:text(name, value)
  if type(value) == "string" and value:find "%S" then return self:set(name, value) end
  if type(value) == "number" or type(value) == "boolean" then return self:set(name, tostring(value)) end
  self:warn "must be a text, and is passed over"
end

--- That an agent is switched off.
function Translation:disabled(value)
  if value == true then self:refuse("is %s: the agent is switched off", tostring(value)).code = "disabled" end
end

local function take_server(self, name, entry)
  local one, label, wrong = mcp_servers.inline(name, entry, self.file)
  if not one then return self:warn("has a server that is left out: '%s': %s", label:sub(1, 80), wrong) end
  for i, known in ipairs(self.inline) do
    if known.name == one.name then table.remove(self.inline, i) break end
  end
  table.insert(self.inline, one)
  self.servers[one.name] = self.servers[one.name] or self.servers[name] or { ["*"] = true }
  if one.name ~= name then self.servers[name] = nil end
  self:note("a person is asked before '%s' starts", one.name)
end

--- Servers of MCP: names of a file of servers, and servers that are written out, of which a person is asked before they start.
function Translation:named_servers(value)
  if type(value) ~= "table" then return self:warn "must be a list or a map of servers: it is passed over" end
  local list = {}
  for i, one in ipairs(value) do
    if type(one) == "string" then self.servers[one] = self.servers[one] or { ["*"] = true }
    elseif type(one) == "table" then list[i] = one end
  end
  if not json.is_array(value) then list = { value } end
  for _, map in pairs(list) do
    for _, name in ipairs(sorted_keys(map)) do
      if #self.inline < MOST_SERVERS then take_server(self, tostring(name), map[name]) else self:warn("has more than %d servers: the rest is left out", MOST_SERVERS) break end
    end
  end
end

-- ---- Names -------------------------------------------------------------------------------------------

local spelt = { ["#"] = "sharp", ["+"] = "plus" }

--- A name that agents can have here, of one that another program shows to people; nil where no letter is left.
---@param name string
---@return string?
function translation.slug(name)
  local slug = name:sub(1, 200):gsub("[#+]", spelt):gsub("[^%w_-]+", "_"):gsub("^[_-]+", ""):sub(1, 59):gsub("[_-]+$", "")
  if slug:find "^%d" then slug = "_" .. slug:sub(1, 58) end
  return slug:find "%a" and slug or nil
end

--- The name of a file without its endings.
---@param file string
---@return string
function translation.base(file)
  local base = file:match "([^/]*)$"
  return base:match "^(.*)%.agent%.md$" or base:match "^(.*)%.chatmode%.md$" or base:match "^(.*)%.md$" or base:match "^(.*)%.ai$" or base
end

--- Sets `name` and `display_name` of what people are shown.
function Translation:name(value)
  if type(value) == "number" or type(value) == "boolean" then value = tostring(value) end
  if type(value) ~= "string" then
    self:warn "must be a text: the file's name is used"
    value = translation.base(self.file)
  end
  local slug = translation.slug(value) or translation.slug(translation.base(self.file)) or "agent"
  self:set("name", slug)
  if slug ~= value then self:set("display_name", value) end
end

-- ---- Models ------------------------------------------------------------------------------------------

--- The models that an agent would like: names, of which the others are fallbacks.
function Translation:models(value)
  local wished, unknown = {}, {}
  for _, name in ipairs(type(value) == "string" and { value } or self:list(value)) do
    for part in name:gmatch "[^|]+" do
      part = part:gsub("['\"]", "")
      local id, inherited = models.find(part)
      if id then wished[#wished + 1] = id elseif not inherited then unknown[#unknown + 1] = part:sub(1, 80):match "^%s*(.-)%s*$" end
    end
  end
  if #unknown > 0 then self:warn("names no model that hocket knows (%s): %s", table.concat(unknown, ", "), #wished > 0 and "the others are used" or "the default one is used") end
  if #wished > 0 then self.wished, self.from.model = wished, "/" .. self.key end
  self:note("is %s", #wished > 0 and table.concat(wished, ", ") .. " where there is a key, else the default" or "the caller's model, or the default")
end

-- ---- Tools -------------------------------------------------------------------------------------------

-- "Bash(git *)" -> "Bash", "git *".
local function parts_of(name)
  local head, inside = name:match "^%s*([^%s(]+)%s*%((.*)%)%s*$"
  return head or name:match "^%s*(%S+)%s*$" or name, inside
end

-- What a list narrows: names with what is in their brackets, globs of names as the names that they stand for.
local function narrowed(self, names)
  local list = {}
  for _, name in ipairs(names) do
    local head, inside = parts_of(name)
    if not inside and head:find "[()%s]" then self:refuse("names '%s', which cannot be read", name) end
    local heads = head == "*" and { head } or tools.names_like(head)
    for _, one in ipairs(heads) do list[#list + 1] = { name = name, head = one, inside = one == head and inside or nil } end
    if #heads == 0 then self:note("'%s' stands for no tool of hocket", name) end
  end
  return list
end

-- How a specifier of another program is written in a rule of ours; nil: it cannot be.
local function glob_of(inside)
  local glob = inside:gsub(":%*$", " *")
  if glob == "" or #glob > 500 or glob:find "[%c]" then return nil end
  return glob
end

local function rule(self, verdict, text)
  local approve = self.keys.approve or {}
  self.keys.approve, self.from.approve = approve, self.from.approve or (self.key and "/" .. self.key or "")
  approve[verdict] = approve[verdict] or json.array {}
  for _, one in ipairs(approve[verdict]) do
    if one == text then return end
  end
  table.insert(approve[verdict], text)
end

--- A rule of ours for one use of a tool.
function Translation:rule(verdict, text) rule(self, verdict, text) end

local function want(self, name, out)
  local head, inside = parts_of(name)
  local server, one = tools.of_server(head, self.format)
  local given = tools.given(head, self.format)
  if given == "agents" then
    self.calls = inside and self:list(inside) or self.calls or "any"
  elseif given == "skills" then
    self.with_skills = true
  elseif given then
    local glob = inside and inside ~= "*" and glob_of(inside)
    if inside and inside ~= "*" and not (glob and given[1] == "execute_command") then return name end
    if glob then rule(self, "allow", ("execute_command(%s)"):format(glob)) end
    for _, tool in ipairs(given) do out[#out + 1] = tool end
  elseif server then
    self.servers[server] = self.servers[server] or {}
    self.servers[server][one] = true
  else
    return name
  end
end

--- Takes its tools: our own that stand for them, servers of MCP, whom it calls.
function Translation:tools(names)
  local out, without = self.wanted or {}, {}
  for _, name in ipairs(names) do
    if name == "*" then
      self.all_tools = true
    else
      without[#without + 1] = want(self, name, out)
    end
  end
  self.wanted = out
  if #without > 0 then self:warn("names tools that hocket does not have; they are left out: %s", table.concat(without, ", ")) end
end

--- Denies tools by the names of the other program. What hocket has not is denied already.
function Translation:deny(names)
  for _, entry in ipairs(narrowed(self, names)) do
    local name, head, inside = entry.name, entry.head, entry.inside
    local given, server, one = tools.denied(head, self.format), tools.of_server(head, self.format)
    if head == "*" then
      self:refuse "denies every tool: write 'tools: []' for an agent without tools"
    elseif given == "agents" then
      self.no_calls = true
      if inside then self:warn("denies '%s': the agent calls no other agent at all", name) end
    elseif given == "skills" then
      self.no_skills = true
    elseif given then
      local glob = inside and inside ~= "*" and glob_of(inside)
      if inside and inside ~= "*" and not (glob and given[1] == "execute_command") then self:warn("denies '%s' as a whole: hocket has no rule for '%s'", head, inside) end
      if glob and given[1] == "execute_command" then
        rule(self, "deny", ("execute_command(%s)"):format(glob))
      else
        for _, tool in ipairs(given) do self.denied[tool] = true end
      end
    elseif server then
      self.denied_servers[server] = self.denied_servers[server] or {}
      self.denied_servers[server][one] = true
    else
      self:note("'%s' is denied, and hocket has no such tool", name)
    end
  end
end

--- Lets a person be asked before each use of tools.
function Translation:ask(names)
  for _, entry in ipairs(narrowed(self, names)) do
    local name, given = entry.name, tools.denied(entry.head, self.format)
    if given == "agents" or given == "skills" then self:deny { entry.head }
    elseif given then
      for _, tool in ipairs(given) do rule(self, "ask", tool) end
    else
      self:note("'%s' is asked about, and hocket has no such tool", name)
    end
  end
end

-- Which of our tools it has in the end.
--- Settles what follows from several keys: which of our tools it has in the end.
---@param format hocket.Format
---@param assistant fun(): string[] The tools of the built-in assistant.
function Translation:settle(format, assistant)
  local by_default = not self.wanted or self.all_tools
  local list, seen = json.array {}, {}
  local all = by_default and format.no_tools == "assistant" and table.move(assistant(), 1, 20, 1, {}) or {}
  for _, name in ipairs(table.move(self.wanted or {}, 1, #(self.wanted or {}), #all + 1, all)) do
    if not seen[name] and not self.denied[name] and (not self.reads_only or tools.reading[name]) then list[#list + 1] = name end
    seen[name] = true
  end
  self.keys.tools, self.from.tools = list, "/tools"
  for name in pairs(self.denied) do rule(self, "deny", name) end
  for _, name in ipairs(self.reads_only and tools.changing or {}) do rule(self, "deny", name) end
  if self.keys.approve then
    for _, rules in pairs(self.keys.approve) do table.sort(rules) end
  end
  local may_have_skills = not self.no_skills and not self.reads_only
  if may_have_skills and (self.with_skills or by_default and format.no_tools == "assistant") and self.keys.skills == nil then self.keys.skills = true end
  if not may_have_skills then self.keys.skills = nil end
  if self.no_calls or self.reads_only then self.calls = nil end
  if self.reads_only then self.servers, self.inline = {}, {} end
end

--- Begins one.
---@param format string
---@param file string
---@return hocket.Translation
function translation.new(format, file)
  return setmetatable({ format = format, file = file, keys = {}, from = {}, notes = {}, denied = {}, servers = {}, inline = {}, denied_servers = {} }, Translation)
end

return translation

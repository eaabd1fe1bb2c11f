--- What a caller of an endpoint asks, in the form that every protocol comes to: messages, what is said now, tools, settings.
---
---     add {role, …} … ──> finish ──> {messages, input, files, instructions}
---
--- Clients give results in many orders: behind all calls, behind each one, or in front of them. A result belongs to its call by id, wherever it stands.
---
--- What is wrong is raised: {code = "invalid", message, param}.
local json = require "hocket.json"
local media = require "hocket.internal.base.media"
local sorted_keys = require "hocket.internal.base.sorted_keys"
local system = require "hocket.internal.core.system"

local asked = {}

--- Messages of one request; its tools.
local MAX_MESSAGES, MAX_TOOLS = 10000, 128

--- The most names that one answer lists as ignored.
local MAX_IGNORED = 16

local AT_IT, GO_ON = "Look at what is attached.", "The results of the tool calls are above. Go on."

--- Raises what is wrong with a request.
---@param param? string
---@param text string
function asked.wrong(param, text, ...)
  error({ code = "invalid", message = text:format(...), param = param }, 0)
end
local wrong = asked.wrong

---@class hocket.Asked
---@field messages table[] In the neutral form, without results: `finish` puts these behind their calls.
---@field results table[] What came of calls since the user spoke last: {id, text, error}.
---@field said? table What the user says now.
local Asked = {}
Asked.__index = Asked

---@param param? string The member of the request that the messages stand in: "messages".
---@param goes_on? boolean The request continues with a conversation of the server: calls may stand there.
---@return hocket.Asked
function asked.new(param, goes_on)
  return setmetatable({ param = param or "messages", goes_on = goes_on, messages = json.array {}, system = {}, open = {}, early = {}, came_of = {}, results = {} }, Asked)
end

--- A value of one type, or nil where there is none.
---@param of table
---@param name string
---@param kind "string"|"number"|"integer"|"boolean"|"table"
---@param where? string
function asked.optional(of, name, kind, where)
  local value = of[name]
  if value == nil or value == json.null then return nil end
  local is = kind == "integer" and math.type(value) == "integer" or kind ~= "integer" and type(value) == kind
  if not is then wrong((where or "") .. name, "'%s%s' has to be %s", where or "", name, kind == "table" and "an object or a list" or kind == "integer" and "a whole number" or "a " .. kind) end
  return value
end

--- The same where it has to be there.
function asked.required(of, name, kind, where)
  local value = asked.optional(of, name, kind, where)
  if value == nil then wrong((where or "") .. name, "'%s%s' is missing", where or "", name) end
  return value
end

--- Names as a set.
---@param words string
---@return table<string, true>
function asked.names(words)
  local set = {}
  for word in words:gmatch "%S+" do set[word] = true end
  return set
end

local user_names = { "user", "user_id", "userId", "safety_identifier" }

--- For whom a client asks, by the names that protocols and their clients have for it; nil: it does not say.
---@param of table
---@return string?
function asked.user(of)
  for _, name in ipairs(user_names) do
    local value = of[name]
    if math.type(value) == "integer" then value = tostring(value) end
    if value ~= nil and value ~= json.null and type(value) ~= "string" then wrong(name, "'%s' has to be a text", name) end
    if type(value) == "string" and value ~= "" then return value end
  end
end

-- ---- Parts ---------------------------------------------------------------------------------------

--- What a data: address holds.
---@param url any
---@param where string
---@return string data
function asked.from_url(url, where)
  if type(url) ~= "string" then wrong(where, "'%s' has to be a text", where) end
  local inside = url:match "^data:[^,]*;base64,(.*)$"
  if not inside then wrong(where, "'%s' has to be a data: address with base64: nothing is fetched for a caller", where) end
  return asked.from_base64(inside, where)
end

---@param text any
---@param where string
---@return string data
function asked.from_base64(text, where)
  local data = type(text) == "string" and system.unbase64(text)
  if not data then wrong(where, "'%s' is no base64", where) end
  return data
end

--- Something that is no text: {name, data} for what is said now, as a part of messages before.
---@param data string
---@param where string
---@param name? string
---@return table
function asked.file(data, where, name)
  local one, err = media.of(data, name)
  if not one then wrong(where, "'%s': %s", where, err.message) end
  return one
end

--- Reads the content of a message: a text, or a list of parts.
---@param content any
---@param where string
---@param readers table<string, fun(part: table, where: string, texts: string[], files: table[])> By the types of parts.
---@param types string The types that a client may send, for the error.
---@return string[] texts
---@return table[] files
function asked.parts(content, where, readers, types)
  if type(content) == "string" then return { content }, {} end
  if type(content) ~= "table" then wrong(where, "'%s' has to be a text or a list of parts", where) end
  local texts, files = {}, {}
  for i, part in ipairs(content) do
    local at = ("%s[%d]"):format(where, i - 1)
    local read = type(part) == "table" and readers[part.type]
    if not read then wrong(at, "'%s.type' has to be %s", at, types) end
    read(part, at, texts, files)
  end
  return texts, files
end

-- ---- Messages ------------------------------------------------------------------------------------

--- Adds to the caller's own prompt.
---@param text string
function Asked:instruct(text)
  if text ~= "" then self.system[#self.system + 1] = text end
end

-- What the user has said last goes into the messages once something follows it.
local function settle(self)
  local said = self.said
  if not said then return end
  self.said = nil
  local parts = json.array {}
  if #said.texts > 0 then parts[1] = { text = table.concat(said.texts, "\n\n") } end
  for _, one in ipairs(said.files) do parts[#parts + 1] = (media.part(one)) end
  local only_text = #parts == 1 and parts[1].text
  self.messages[#self.messages + 1] = only_text and { role = "user", text = only_text } or { role = "user", parts = parts }
end

local function count(self)
  self.n = (self.n or 0) + 1
  if self.n > MAX_MESSAGES then wrong(self.param, "there are more than %d messages", MAX_MESSAGES) end
end

--- Adds what the user says: texts, and what asked.file gives. Several in a row are one.
---@param texts string[]
---@param files hocket.Media[]
function Asked:user(texts, files)
  count(self)
  self.results = {}
  self.said = self.said or { texts = {}, files = {} }
  table.move(texts, 1, #texts, #self.said.texts + 1, self.said.texts)
  table.move(files, 1, #files, #self.said.files + 1, self.said.files)
end

-- A call waits for its result, unless that stands before it.
local function add_call(self, call)
  local early = self.early[call.id]
  if early then
    self.early[call.id], self.came_of[call] = nil, early
  else
    self.open[call.id] = self.open[call.id] or {}
    table.insert(self.open[call.id], call)
  end
end

--- Adds an answer, with its calls: {id, name, arguments}.
---@param text string
---@param calls table[]
function Asked:assistant(text, calls)
  count(self)
  settle(self)
  if text == "" and #calls == 0 then return end
  self.ends_with_result = false
  local last = self.messages[#self.messages]
  if last and last.role == "assistant" and not last.calls and #calls == 0 then
    last.text = last.text .. "\n\n" .. text
    return
  end
  self.messages[#self.messages + 1] = { role = "assistant", text = text, calls = #calls > 0 and calls or nil }
  for _, call in ipairs(calls) do add_call(self, call) end
end

--- Adds what came of a call: of the last one before it with this id that has no result, else of the next one behind it.
---@param id string
---@param text string
---@param is_error? boolean
---@param where string
function Asked:result(id, text, is_error, where)
  count(self)
  local one, calls = { id = id, text = text, error = is_error or nil, where = where }, self.open[id]
  if calls then
    self.came_of[table.remove(calls)] = one
    if #calls == 0 then self.open[id] = nil end
  elseif self.early[id] then wrong(where, "'%s': the call '%s' has two results", where, id)
  else self.early[id] = one end
  self.results[#self.results + 1], self.ends_with_result = one, true
end

--- Raises what is wrong with the results: one of no call, and, unless more messages may follow, a call without one.
---@param more_follow? boolean
function Asked:check_results(more_follow)
  for id, one in pairs(not self.goes_on and self.early or {}) do
    wrong(one.where, "'%s': there is no call '%s' in the assistant's messages, or it has its result", one.where, id)
  end
  for _, message in ipairs(not more_follow and next(self.open) and self.messages or {}) do
    for _, call in ipairs(message.calls or {}) do
      if not self.came_of[call] then wrong(self.param, "the call '%s' has no result: each call has to have one", call.id) end
    end
  end
end

--- Whether it says nothing but what came of calls.
---@return boolean
function Asked:brings_results()
  local last = self.messages[#self.messages]
  return not self.said and #self.results > 0 and (self.ends_with_result or last ~= nil and last.calls ~= nil)
end

-- The messages, with each result behind its call's message.
local function all_messages(self)
  local list = json.array {}
  for _, message in ipairs(self.messages) do
    list[#list + 1] = message
    for _, call in ipairs(message.calls or {}) do
      local one = self.came_of[call]
      list[#list + 1] = { role = "tool", id = call.id, name = call.name, text = one.text, error = one.error }
    end
  end
  return list
end

-- ---- What is to be called ----------------------------------------------------------------------------

local function only(list, names)
  local some, wanted = json.array {}, {}
  for _, name in ipairs(names) do wanted[name] = true end
  for _, one in ipairs(list) do
    if wanted[one.name] then some[#some + 1] = one end
    wanted[one.name] = nil
  end
  for name in pairs(wanted) do wrong("tool_choice", "'tool_choice' names '%s', which is none of 'tools'", tostring(name)) end
  return some
end

--- What of a caller's tools is offered, and what the model has to do first.
---@param list table[]
---@param mode "none"|"auto"|"required"
---@param names? string[] Only these of them.
---@return table[]? tools
---@return string? first "required", or the one tool's name: it holds until a tool was called.
function asked.choose(list, mode, names)
  if names then list = only(list, names) end
  if mode == "none" then return nil end
  if mode == "required" and #list == 0 then wrong("tool_choice", "'tool_choice' asks for a call, and there are no 'tools'") end
  return #list > 0 and list or nil, mode == "required" and (#list == 1 and list[1].name or "required") or nil
end

local modes = { none = "none", auto = "auto", required = "required" }
local callable = { ["function"] = true, custom = true }

--- The same for what OpenAI's two interfaces say: a word, one function, or some of them.
---@param list table[]
---@param choice any
---@param name_of fun(one: table): any Of a function as it stands in the choice.
function asked.choose_as_openai(list, choice, name_of)
  if choice == nil or choice == json.null then choice = "auto" end
  if modes[choice] then return asked.choose(list, choice) end
  if type(choice) == "table" and callable[choice.type] and type(name_of(choice)) == "string" then return asked.choose(list, "required", { name_of(choice) }) end
  local some = type(choice) == "table" and choice.type == "allowed_tools" and (type(choice.allowed_tools) == "table" and choice.allowed_tools or choice)
  if not some or type(some.tools) ~= "table" or not modes[some.mode] then
    wrong("tool_choice", "'tool_choice' has to be none, auto, required, one function of yours, or allowed_tools")
  end
  local names = {}
  for i, one in ipairs(some.tools) do
    names[i] = type(one) == "table" and name_of(one)
    if type(names[i]) ~= "string" then wrong("tool_choice", "'tool_choice.tools[%d]' has to be a function of yours", i - 1) end
  end
  return asked.choose(list, some.mode, names)
end

-- ---- The rest --------------------------------------------------------------------------------------

--- A tool of the caller's.
---@param list table[]
---@param name any
---@param description any
---@param parameters any
---@param where string
---@return table
function asked.tool(list, name, description, parameters, where)
  if type(name) ~= "string" or #name > 64 or not name:find "^[%w_-]+$" then wrong(where, "'%s.name' has to be 1 to 64 of A-Z a-z 0-9 _ -", where) end
  if #list >= MAX_TOOLS then wrong(where, "there are more than %d tools", MAX_TOOLS) end
  for _, one in ipairs(list) do
    if one.name == name then wrong(where, "there are two tools '%s'", name) end
  end
  if parameters ~= nil and parameters ~= json.null and type(parameters) ~= "table" then wrong(where, "'%s': the parameters have to be a JSON Schema", where) end
  local made = {
    name = name, description = type(description) == "string" and description or nil, parameters = type(parameters) == "table" and next(parameters) and json.encode(parameters) or nil, -- as text, which keeps the order
  }
  list[#list + 1] = made
  return made
end

-- ---- What is passed over ---------------------------------------------------------------------------

local Ignored = {}
Ignored.__index = Ignored

--- Members of a request that hocket ignores. The rest is served; a header and a warning of the run name them.
function asked.ignored()
  return setmetatable({ n = 0 }, Ignored)
end

local function safe(text)
  return (text:sub(1, 64):gsub("[^%w_.%[%]-]", "?"))
end

---@param where string A member, or its path.
---@param kind? string
function Ignored:add(where, kind)
  self.n = self.n + 1
  if self.n <= MAX_IGNORED then self[self.n] = kind and ("%s (%s)"):format(safe(where), safe(kind)) or safe(where) end
end

-- A value that asks for nothing.
local function is_nothing(value)
  return value == json.null or value == false or value == 0 or value == "" or type(value) == "table" and next(value) == nil
end

--- Adds the members of a request that nothing here reads.
---@param body table
---@param read table<string, true> The ones that are read, or change nothing about the answer.
function Ignored:add_members(body, read)
  for _, name in ipairs(sorted_keys(body)) do
    if not read[name] and not is_nothing(body[name]) then self:add(name) end
  end
  if body.parallel_tool_calls == false then self:add "parallel_tool_calls" end
end

--- As texts, or nil where there is nothing.
function Ignored:list()
  return self.n > 0 and json.array { table.unpack(self, 1, math.min(self.n, MAX_IGNORED)) } or nil
end

--- Whether a tool is the caller's own. One that a provider would run itself, or of a kind that nobody here knows, is passed over.
---@param one any
---@param own table<string, boolean>
---@param where string
---@param ignored table
---@return boolean
function asked.is_own(one, own, where, ignored)
  if type(one) ~= "table" or type(one.type) ~= "string" then wrong(where, "'%s' has to be a tool, with a 'type'", where) end
  if own[one.type] then return true end
  ignored:add(where, one.type)
  return false
end

--- What is said now, and everything that goes with it: for turn.begin. With results at the end that nobody waits for these are reported first.
---@return string input
---@return table caller
function Asked:finish()
  self:check_results()
  if not self.said and not self:brings_results() then wrong(self.param, "the last message has to be a user's, or what came of a call") end
  local said, messages = self.said or { texts = { GO_ON }, files = {} }, all_messages(self)
  local files = json.array {}
  for i, one in ipairs(said.files) do files[i] = { name = one.name, data = system.base64(one.data) } end
  local input = table.concat(said.texts, "\n\n")
  if not input:find "%S" then
    if #files == 0 then wrong(self.param, "the last message is empty") end
    input = AT_IT
  end
  return input, {
    messages = #messages > 0 and messages or nil, files = #files > 0 and files or nil,
    instructions = #self.system > 0 and table.concat(self.system, "\n\n") or nil,
  }
end

return asked

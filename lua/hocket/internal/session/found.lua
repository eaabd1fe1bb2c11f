--- What an answer has beside words and calls: what the provider's own tools did, and what they found. It is counted, labels the
--- conversation, and is reported; the blocks themselves go back with the conversation as they came.
local json = require "hocket.json"
local labels = require "hocket.internal.base.labels"
local effects = require "hocket.internal.base.lazy" "hocket.internal.base.effects"
local media = require "hocket.internal.base.lazy" "hocket.internal.base.media"
local system = require "hocket.internal.core.system"
local workdir = require "hocket.internal.base.lazy" "hocket.internal.run.workdir"
local prices = require "hocket.internal.base.lazy" "hocket.prices"
local sanitize = require "hocket.internal.base.sanitize"
local sorted_keys = require "hocket.internal.base.sorted_keys"

local found = {}

--- Sources that are reported, of one answer, and bytes of an address and of a title.
local SOURCES, URL, TITLE = 50, 2000, 200

-- What the kinds of items mean; the ones that are not named are none of a tool.
local tools = {
  web_search_call = "web_search", file_search_call = "file_search", code_interpreter_call = "code_execution", image_generation_call = "image_generation",
  web_search_tool_result = "web_search", web_fetch_tool_result = "web_fetch", code_execution_tool_result = "code_execution",
  bash_code_execution_tool_result = "code_execution", text_editor_code_execution_tool_result = "code_execution", executableCode = "code_execution",
}

-- Whose words are in the answer then.
local label_of = { web_search = "web", web_fetch = "web", file_search = "outside" }

local function text_of(value, most)
  if type(value) ~= "string" or value == "" then return nil end
  value = value:sub(1, most):gsub("[%c\127]", " ")
  return utf8.len(value) and value or sanitize.json(value)
end

-- An address that one may follow, and nothing that only looks like one.
local function add(list, seen, url, title)
  if type(url) ~= "string" or #url > URL or not url:find "^https?://[^%s%c\"<>\\]+$" or seen[url] or #list == SOURCES then return end
  seen[url] = true
  list[#list + 1] = { url = url, title = text_of(title, TITLE) }
end

local function sources_of(objects)
  local list, seen, searches = json.array {}, {}, 0
  for _, one in ipairs(objects) do
    if one.url then add(list, seen, one.url, one.title) end
    for _, chunk in ipairs(type(one.groundingChunks) == "table" and one.groundingChunks or {}) do
      local web = type(chunk) == "table" and type(chunk.web) == "table" and chunk.web
      if web then add(list, seen, web.uri, web.title) end
    end
    if type(one.webSearchQueries) == "table" then searches = math.max(searches, #one.webSearchQueries) end
  end
  return list, searches
end

-- How often each was used.
local function uses_of(items, searches, usage)
  local uses = {}
  for _, word in ipairs(items) do
    local name = tools[word]
    if name then uses[name] = (uses[name] or 0) + 1 end
  end
  if searches > 0 then uses.web_search = searches end
  local counted = type(usage) == "table" and type(usage.server_tool_use) == "table" and usage.server_tool_use or {}
  for name, field in pairs { web_search = "web_search_requests", web_fetch = "web_fetch_requests" } do
    local n = math.tointeger(counted[field])
    if n and n > 0 and n < 100000 then uses[name] = n end
  end
  return next(uses) and uses
end

local function list_of(text)
  local value = text ~= "" and json.decode("[" .. text .. "]")
  return type(value) == "table" and value or {}
end

-- Uses are paid for beside tokens: at a price that somebody has said, else nobody knows what it cost.
local function pay(self, list)
  local run, price = self.asker.run, (prices.get(self.model.id) or {}).server_tools or {}
  if not run or self.model.simulated then return end
  for _, one in ipairs(list) do
    run.accounts:add(self.asker.account, {}, price[one.name] and price[one.name] * one.uses, 0, 0)
  end
end

local function label(self, list)
  for _, one in ipairs(list) do
    local bit = label_of[one.name] and labels.bit(label_of[one.name])
    if bit and self.permissions then self.permissions:label(bit, one.name, self.emit)
    elseif bit then self.history:labels(bit) end
  end
end

-- ---- Pictures and recordings that a model has made -------------------------------------------------

--- Of one answer; and numbers of files that are tried.
local MADE, NUMBERS = 16, 1000

local endings = { ["image/png"] = "png", ["image/jpeg"] = "jpg", ["image/webp"] = "webp", ["image/gif"] = "gif", ["audio/wav"] = "wav", ["audio/mpeg"] = "mp3" }

-- Their bytes; what they are these say, and not the provider.
local function made_of(objects)
  local list, wrong = {}, nil
  for _, one in ipairs(objects) do
    local inline = type(one.inlineData) == "table" and one.inlineData
    local text = inline and inline.data or one.type == "image_generation_call" and one.result
    local data = type(text) == "string" and #list < MADE and system.unbase64(text)
    local made, err = nil, nil
    if data then made, err = media.of(data, "what the model has made") end
    if made and endings[made.mime] then list[#list + 1] = made else wrong = wrong or err and err.message or text and "what the model has made cannot be read" end
  end
  return list, wrong
end

-- A new file in the folder of the work: nothing is written over.
local function save(run, one)
  local root, err = workdir.root(run)
  if not root then return nil, err end
  for n = 1, NUMBERS do
    local path = ("made-%s-%d.%s"):format(tostring(run.id):sub(-6), n, endings[one.mime])
    if not root:info(path) then
      local ok, wrong = root:write(path, one.data)
      if ok then return path end
      if wrong.code ~= "exists" and wrong.code ~= "conflict" then return nil, wrong end
    end
  end
  return nil, { code = "limit", message = "there are too many files that models have made" }
end

-- Agents at work leave them in files, which a replay does not write again; of a session by itself they are in the reply.
local function keep(self, made)
  local run = self.asker.run
  self.made = self.made or {}
  for _, one in ipairs(made) do
    local path, err
    if run then path, err = effects.run("made", { hash = system.digest(one.data) }, function() return save(run, one) end) end
    if err then self.emit("warning", { message = ("a %s that the model has made could not be written: %s"):format(media.word(one.kind), err.message) }) end
    self.made[#self.made + 1] = { kind = one.kind, mime = one.mime, path = path, data = one.data }
    if path then self.emit("file_made", { path = path, kind = one.kind, mime = one.mime, bytes = #one.data }) end
  end
end

--- Takes what an answer has beside, if anything.
---@param self hocket.Session
---@param call userdata That has the answer.
function found.take(self, call)
  local objects, items, usage = call:found()
  if not objects then return end
  objects = list_of(objects)
  local sources, searches = sources_of(objects)
  local made, wrong = made_of(objects)
  if wrong then self.emit("warning", { message = wrong }) end
  keep(self, made)
  local words = items ~= "" and json.decode(items)
  local uses = uses_of(type(words) == "table" and words or {}, searches, usage ~= "" and json.decode(usage) or nil)
  if #sources > 0 then
    uses = uses or { web_search = 1 }
    self.sources = self.sources or json.array {}
    local seen = {}
    for _, one in ipairs(self.sources) do seen[one.url] = true end
    for _, one in ipairs(sources) do add(self.sources, seen, one.url, one.title) end
  end
  if not uses then return end
  local list = json.array {}
  for _, name in ipairs(sorted_keys(uses)) do list[#list + 1] = { name = name, uses = uses[name] } end
  label(self, list)
  pay(self, list)
  self.emit("server_tools_used", { tools = list, sources = sources })
end

return found

--- Who asks: the owner, a client's token (serve/client_tokens.lua) or a link for one question (serve/question_links.lua), and what that may do
--- with a run.
---
---                    own run                another's run            a link
---     read           read                   read-all                 -          else: there is no such run
---     continue       run                    manage, or --all-runs    -          else: 403, or there is no such run
---     answer         run or answer          answer, or --all-runs    its run
---
--- A run is of the token that has begun it, by its id in the run's options. What was begun on the command line, by a schedule or by the
--- owner's token, and what was imported, is the owner's.
local admission = require "hocket.internal.base.http.admission"
local client_tokens = require "hocket.internal.serve.client_tokens"
local json = require "hocket.json"
local question_links = require "hocket.internal.serve.question_links"

local caller = {}

---@class hocket.Caller
---@field token? hocket.ClientToken nil: the owner.
---@field id? string Of the token.
---@field link? hocket.QuestionLink
---@field scopes table<string, true>
---@field agents? table<string, true>
local Caller = {}
Caller.__index = Caller

local OWNER = setmetatable({ scopes = {} }, Caller)

local function set_of(list)
  local set = {}
  for _, word in ipairs(list) do set[word] = true end
  return set
end

-- Its id is none that a token has, so no run is its own.
local function of_link(link)
  return setmetatable({ token = { id = "link " .. link.id }, id = "link " .. link.id, link = link, scopes = { link = true } }, Caller)
end

--- Who brings a request; nil: nobody whom we know. A link is one also where every program of the machine is let in.
---@param headers table<string, string>
---@param owner_token? string nil: everybody is the owner.
---@param all_runs? boolean
---@return hocket.Caller?
---@return hocket.Error?
function caller.of(headers, owner_token, all_runs)
  local brought = admission.brought(headers)
  local link, over = question_links.find(brought)
  if link then return of_link(link) end
  if over then return nil, over end
  if admission.token(headers, owner_token) then return OWNER end
  local token = client_tokens.find(brought)
  if not token then return nil end
  return setmetatable({ token = token, id = token.id, scopes = client_tokens.granted(token.scopes), agents = token.agents and set_of(token.agents), all_runs = all_runs }, Caller)
end

---@return boolean
function Caller:is_owner()
  return self.token == nil
end

--- Whether it is still let in.
---@return boolean
function Caller:holds()
  if self.link then return question_links.holds(self.link) end
  return self.token == nil or client_tokens.holds(self.token)
end

--- Whether it may use an agent, by the name that is offered.
---@param name? string
---@return boolean
function Caller:may_use(name)
  return self.agents == nil or name ~= nil and self.agents[name] == true
end

--- What `serve` has noted with a run, by its row: a record's may be anything.
---@param row {options?: string|table}
---@return {agent?: string, key?: string, digest?: string, token?: string}
function caller.noted(row)
  local options = row.options
  if type(options) == "string" then options = options:find('"serve":', 1, true) and json.decode(options) or nil end
  local serve, made = type(options) == "table" and type(options.serve) == "table" and options.serve or {}, {}
  for _, name in ipairs { "agent", "key", "digest", "token" } do made[name] = type(serve[name]) == "string" and serve[name] or nil end
  return made
end

--- The token that has begun a run, by its row; nil: the owner's.
---@param row {options?: string|table, generation?: string}
---@return string?
function caller.token_of(row)
  if (row.generation or ""):find("import ", 1, true) then return nil end
  return caller.noted(row).token
end

--- The agent that a run was started with, as it was offered.
---@param row {options?: string|table}
---@return string?
function caller.agent_of(row) return caller.noted(row).agent end

---@param of? string The token of the run.
---@return boolean
function Caller:owns(of)
  return self.token == nil or of ~= nil and of == self.id
end

---@param of? string
---@return boolean
function Caller:may_read(of)
  return self:owns(of) or self.scopes["read-all"] == true
end

--- Whether it may have a run go on, change or end it.
---@param of? string
---@return boolean
function Caller:may_continue(of)
  return self:owns(of) or self.scopes.manage == true or self.all_runs == true
end

---@param of? string
---@param id? string The run's.
---@return boolean
function Caller:may_answer(of, id)
  if self.link then return id ~= nil and id == self.link.run end
  return self:owns(of) or self.scopes.answer == true or self.all_runs == true
end

return caller

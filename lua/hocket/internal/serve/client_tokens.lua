--- Tokens for clients of `hocket serve`, beside the owner's: each has a name, scopes and limits of its own.
---
---     STATE/serve-tokens/ID.json     one file a token, 0600 in a folder that nobody else may read: what it may do, and the hash of the token
---     hkt_ID_SECRET                  the token; it stands nowhere, and is shown once
---
--- One file each: two that make or revoke tokens at once never write the same file, and a file that is gone is a token that is revoked,
--- for every server at its next look.
local files = require "hocket.internal.core.fs"
local json = require "hocket.json"
local private_folder = require "hocket.internal.serve.private_folder"
local system = require "hocket.internal.core.system"
local failure = system.failure

local client_tokens = {}

--- What a token may do, and what comes with it.
client_tokens.SCOPES = { "run", "read", "read-all", "answer", "manage", "metrics" }
local implied = { ["read-all"] = { "read" }, manage = { "run", "read", "read-all", "answer" } }

--- Letters of an id and of a secret; bytes of a file; tokens of one folder; letters of a name.
local ID, SECRET, MAX, MOST, NAME = 12, 43, 64 << 10, 10000, 64

local function is_scope(word)
  for _, one in ipairs(client_tokens.SCOPES) do
    if one == word then return true end
  end
  return false
end

local function folder() return private_folder.open "serve-tokens" end

-- ---- One file ----------------------------------------------------------------------------------------

local function is_amount(v) return type(v) == "number" and v > 0 and v < math.huge end

local function is_words(v, check)
  if type(v) ~= "table" or #v == 0 then return false end
  for _, word in ipairs(v) do
    if type(word) ~= "string" or check and not check(word) then return false end
  end
  return true
end

local function is_rate(v) return type(v) == "table" and math.type(v.n) == "integer" and v.n > 0 and is_amount(v.seconds) end

local function is_whole(one)
  return type(one) == "table" and type(one.name) == "string" and type(one.hash) == "string" and #one.hash == 64 and is_words(one.scopes, is_scope)
    and (one.agents == nil or is_words(one.agents)) and (one.budget == nil or is_amount(one.budget)) and (one.rate == nil or is_rate(one.rate))
    and (one.ends == nil or is_amount(one.ends)) and is_amount(one.created)
end

-- What is no whole file of ours lets nobody in.
local function read(dir, id)
  local one, err = private_folder.read(dir, id .. ".json")
  if not one and err.code == "not_found" then return failure("not_found", "there is no token '%s'", id) end
  if err and err.code ~= "invalid" then return nil, err end
  if not is_whole(one) then return failure("invalid", "%s/%s.json cannot be read: revoke the token, and make another one", dir, id) end
  one.id = id
  return one
end

-- ---- Whose a token is --------------------------------------------------------------------------------

---@class hocket.ClientToken
---@field id string
---@field name string
---@field hash string Of the whole token.
---@field scopes string[]
---@field agents? string[] The ones that it may run; nil: all that are offered.
---@field budget? number US dollars a day.
---@field rate? {n: integer, seconds: number} Requests that begin or continue a run.
---@field ends? integer Seconds since 1970.
---@field created integer

local function is_over(one)
  return one.ends ~= nil and one.ends <= system.wall()
end

--- The token that a client brings; nil: there is none such, or no more. A guess takes as long as any other, wherever it is wrong.
---@param text? string
---@return hocket.ClientToken?
function client_tokens.find(text)
  local id = text and #text == 4 + ID + 1 + SECRET and text:match "^hkt_([a-z0-9]+)_[a-z0-9]+$"
  local dir = id and #id == ID and folder()
  if not dir then return nil end
  local one = read(dir, id)
  local same = private_folder.is_same(text, one and one.hash)
  return one and same and not is_over(one) and one or nil
end

--- Whether a token that was found still holds, as it was.
---@param was hocket.ClientToken
---@return boolean
function client_tokens.holds(was)
  local dir = folder()
  local one = dir and read(dir, was.id)
  return one ~= nil and one.hash == was.hash and not is_over(one) and table.concat(one.scopes, " ") == table.concat(was.scopes, " ")
end

--- What scopes give, by name.
---@param scopes string[]
---@return table<string, true>
function client_tokens.granted(scopes)
  local set = {}
  for _, scope in ipairs(scopes) do
    set[scope] = true
    for _, more in ipairs(implied[scope] or {}) do set[more] = true end
  end
  return set
end

-- ---- What the owner does -----------------------------------------------------------------------------

local function check(spec)
  if type(spec.name) ~= "string" or spec.name == "" or #spec.name > NAME or spec.name:find "[%c/]" then
    return failure("invalid", "a token has a name of 1 to %d letters (--name)", NAME)
  end
  for _, scope in ipairs(spec.scopes) do
    if not is_scope(scope) then return failure("invalid", "there is no scope '%s' (there are: %s)", scope, table.concat(client_tokens.SCOPES, ", ")) end
  end
  return true
end

--- All, oldest first; files that cannot be read have `problem`.
---@return hocket.ClientToken[]?
---@return hocket.Error?
function client_tokens.list()
  local dir, there = folder()
  if not dir then return nil, there end
  local list = {}
  for _, entry in ipairs(there and files.list(dir) or {}) do
    local id = entry:match "^([a-z0-9]+)%.json$"
    if id and #list < MOST then
      local one, err = read(dir, id)
      list[#list + 1] = one or { id = id, name = "", scopes = {}, created = 0, problem = err.message }
    end
  end
  table.sort(list, function(a, b) return a.created < b.created or a.created == b.created and a.id < b.id end)
  return list
end

--- Makes one. The token itself is given here, and never again.
---@param spec {name: string, scopes?: string[], agents?: string[], budget?: number, rate?: {n: integer, seconds: number}, ends?: integer}
---@return hocket.ClientToken? made
---@return string|hocket.Error token
function client_tokens.create(spec)
  local all, err = client_tokens.list()
  if not all then return nil, err end
  if #all >= MOST then return failure("limit", "there are %d tokens: revoke some", #all) end
  local made = { name = spec.name, scopes = spec.scopes or { "run", "read" }, agents = spec.agents, budget = spec.budget, rate = spec.rate, ends = spec.ends, created = math.floor(system.wall()) }
  local ok, wrong = check(made)
  if not ok then return nil, wrong end
  for _, one in ipairs(all) do
    if one.name == spec.name then return failure("exists", "there is a token '%s': revoke it first, or take another name", spec.name) end
  end
  local dir = folder()
  made.id = system.token(ID)
  local token = ("hkt_%s_%s"):format(made.id, system.token(SECRET))
  made.hash = system.digest(token)
  ok, err = private_folder.add(dir, made.id .. ".json", made)
  if not ok then return nil, err end
  return made, token
end

-- The files of one token: {name, value}. Those of other days are of no use any more.
local function used(dir, id, day)
  local list = {}
  for _, name in ipairs(files.list(dir) or {}) do
    local server = name:sub(1, #id + 1) == id .. "." and name:match "^%w+%.(%w+)%.used$"
    local value = server and json.decode(files.read(dir .. "/" .. name, MAX) or "")
    if server and type(value) == "table" and value.day == day and is_amount(value.cost) then list[server] = value.cost
    elseif server then os.remove(dir .. "/" .. name) end
  end
  return list
end

--- Revokes the token of this name or id; of several of one name none.
---@param name string
---@return hocket.ClientToken?
---@return hocket.Error?
function client_tokens.revoke(name)
  local all, err = client_tokens.list()
  if not all then return nil, err end
  local found
  for _, one in ipairs(all) do
    if one.id == name or one.name == name then
      if found then return failure("invalid", "several tokens are called '%s': name one by its id", name) end
      found = one
    end
  end
  if not found then return failure("not_found", "there is no token '%s' (hocket serve token list)", name) end
  local dir = folder()
  local ok, why = os.remove(("%s/%s.json"):format(dir, found.id))
  if not ok then return failure("io", "%s", tostring(why)) end
  used(dir, found.id, "") -- all of them go
  return found
end

-- ---- What they use -----------------------------------------------------------------------------------

--- What a token has cost on a day, in US dollars, as the servers other than this one have noted it.
---@param id string
---@param day string "2026-11-29"
---@param server string The name of this one.
---@return number
function client_tokens.spent(id, day, server)
  local dir, there = folder()
  local sum = 0
  for name, cost in pairs(there and used(dir, id, day) or {}) do
    if name ~= server then sum = sum + cost end
  end
  return sum
end

--- Notes what it has cost at this server.
---@param id string
---@param server string
---@param day string
---@param cost number
---@return boolean?
---@return hocket.Error?
function client_tokens.note(id, server, day, cost)
  local dir, err = folder()
  if not dir then return nil, err end
  return files.write(("%s/%s.%s.used"):format(dir, id, server), json.encode { day = day, cost = cost } .. "\n", { private = true })
end

return client_tokens

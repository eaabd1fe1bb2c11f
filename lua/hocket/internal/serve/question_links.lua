--- Links that answer one question of one run, once, until their end: for a person who has nothing else of the server, on a phone.
---
---     STATE/question-links/ID.json    the run, the question, what it asks, the hash of the token (private_folder.lua)
---     STATE/question-links/ID.used    the same after its answer
---     hkl_ID_SECRET                   the token, which stands nowhere. ID begins with the link's end: old files are known by their names
---
--- A link is used by renaming its file, which only one of two can do that come at once. Where the answer is refused it is renamed back; a kill between
--- the rename and the answer leaves a used link and an open question, which needs another link.
local canonical = require "hocket.internal.base.canonical"
local files = require "hocket.internal.core.fs"
local private_folder = require "hocket.internal.serve.private_folder"
local system = require "hocket.internal.core.system"
local failure = system.failure

local question_links = {}

--- Letters of an id (its end first) and of a secret; links of one folder.
local END, RANDOM, SECRET, MOST = 10, 10, 43, 10000
--- Seconds that a link lasts unless its maker says otherwise, and at most.
question_links.LIFE, question_links.LONGEST = 24 * 3600, 30 * 24 * 3600

-- 410 Gone.
local function over(message)
  return nil, { code = "state", status = 410, message = message }
end
local USED = "this link has been used: it answers one question, once"

---@class hocket.QuestionLink
---@field id string
---@field run string The whole id of the run.
---@field question string
---@field asks string A hash of what it asks: another question under this id is not the same.
---@field hash string Of the token.
---@field ends integer Seconds since 1970.
---@field taken? boolean This request answers with it.

local function is_whole(one)
  return type(one) == "table" and type(one.run) == "string" and type(one.question) == "string" and type(one.asks) == "string" and type(one.hash) == "string"
end

local function folder() return private_folder.open "question-links" end

local function end_of(id) return tonumber(id:sub(1, END)) end

local function read(dir, id, kind)
  local one = private_folder.read(dir, id .. kind)
  if not one or not is_whole(one) then return nil end
  one.id, one.ends = id, end_of(id)
  return one
end

--- A hash of what a person sees of a question: what is asked, or the call and its arguments.
---@param open {id: string, questions?: string[], tool?: string, arguments?: string}
---@return string
function question_links.asks(open)
  return system.digest(canonical { id = open.id, questions = open.questions, tool = open.tool, arguments = open.arguments })
end

--- The link that a client brings. Nil without an error: no link of ours; with one: it was used, or has ended.
---@param text? string
---@return hocket.QuestionLink?
---@return hocket.Error?
function question_links.find(text)
  local id = text and #text == 5 + END + RANDOM + SECRET and text:match "^hkl_(%d+[a-z0-9]+)_[a-z0-9]+$"
  local dir = id and #id == END + RANDOM and end_of(id) and folder()
  if not dir then return nil end
  local one = read(dir, id, ".json")
  local used = not one and read(dir, id, ".used") or nil
  if not private_folder.is_same(text, (one or used or {}).hash) then return nil end
  if used then return over(USED) end
  if one.ends <= system.wall() then return over "this link has ended: its question needs another one" end
  return one
end

--- Whether a link that was found may still be used, or is being used by who holds it.
---@param link hocket.QuestionLink
---@return boolean
function question_links.holds(link)
  local dir = not link.taken and folder()
  local one = dir and read(dir, link.id, ".json")
  return link.taken or one ~= nil and one.hash == link.hash and link.ends > system.wall()
end

-- Files whose links are over; how many are left.
local function sweep(dir)
  local left, now = 0, system.wall()
  for _, name in ipairs(files.list(dir) or {}) do
    local id = name:match "^(%d[a-z0-9]+)%.%a+$"
    if id and (end_of(id) or 0) <= now then os.remove(dir .. "/" .. name) else left = left + 1 end
  end
  return left
end

--- Makes one. The token itself is given here, and never again.
---@param run string
---@param open table The question, as `asks` takes it.
---@param ends? integer Seconds since 1970.
---@return string? token
---@return hocket.Error|integer ends
function question_links.create(run, open, ends)
  local now = math.floor(system.wall())
  ends = ends or now + question_links.LIFE
  if ends - now > question_links.LONGEST then return failure("invalid", "a link lasts %d days at most", question_links.LONGEST // 86400) end
  local dir, there = folder()
  if not dir then return nil, there end
  if there and sweep(dir) >= MOST then return failure("limit", "there are %d links: wait until some have ended, or answer here", MOST) end
  local id = ("%010d%s"):format(ends, system.token(RANDOM))
  local token = ("hkl_%s_%s"):format(id, system.token(SECRET))
  local ok, err = private_folder.add(dir, id .. ".json", { run = run, question = open.id, asks = question_links.asks(open), hash = system.digest(token) })
  if not ok then return nil, err end
  return token, ends
end

--- The address that a person opens: what is behind '#' browsers send to nobody, and no log has it.
---@param base string As in "https://agents.example.org".
---@param token string
---@return string
function question_links.address(base, token) return ("%s/#answer=%s"):format(base:gsub("/+$", ""), token) end

local function rename(link, from, to)
  local dir = folder()
  return dir and os.rename(("%s/%s%s"):format(dir, link.id, from), ("%s/%s%s"):format(dir, link.id, to))
end

--- Uses the link, for the first caller only. It may be used again if no answer was recorded: the answer was refused, or `say` raised or was
--- cancelled.
---@async
---@param link hocket.QuestionLink
---@param say fun(): table?, integer|hocket.Error
---@return table? told
---@return integer|hocket.Error
function question_links.use(link, say)
  if not rename(link, ".json", ".used") then return over(USED) end
  link.taken = true
  local told, status
  local closing <close> = setmetatable({}, { __close = function()
    if not told and rename(link, ".used", ".json") then link.taken = nil end
  end })
  told, status = say()
  return told, status
end

return question_links

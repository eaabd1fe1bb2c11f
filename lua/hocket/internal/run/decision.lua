--- What a text says to a call of a tool that waits for permission. Every reader of answers uses it: the run that asks, a run that
--- passes the question on, and the commands that leave an answer in the store for a run that waits there.
---
---     "yes", "no, use the other file", "always", 'edit {"path": "b.txt"}'
local json = require "hocket.json"
local schema = require "hocket.schema"
local trim = require "hocket.internal.base.trim"

local decision = {}

local yes = { y = true, yes = true, ok = true, allow = true, ["true"] = true, ja = true, accept = true }
local no = { n = true, no = true, deny = true, ["false"] = true, nein = true, refuse = true }
local for_all = { a = true, always = true }

--- What an answer says: yes, no or always, and only when it says nothing else. "Yes, but …" is none
--- of them.
---@param text string
---@return "yes"|"no"|"always"|nil
function decision.verdict(text)
  local word = trim.both(text):lower():match "^(%a+)%s*[%.!]*$"
  return word and (yes[word] and "yes" or no[word] and "no" or for_all[word] and "always") or nil
end

--- Whether an answer to an approval is a yes or a no, and nothing more. "Always" would answer further questions, other arguments be another call
--- than the one that was asked about: who may answer a run and not continue it says neither.
---@param question string Its id.
---@param text string
---@return boolean
function decision.is_plain(question, text)
  return question:sub(1, 1) ~= "a" or decision.verdict(text) == "yes" or decision.verdict(text:match "^%s*(%a+)[,:%s]*" or "") == "no"
end

-- Whether arguments fit the schema that came with the question. Without one the run checks them when it takes the answer.
local function fits(asked, arguments)
  local form = type(asked.schema) == "string" and json.decode(asked.schema, true)
  local compiled = type(form) == "table" and schema.compile(form)
  if not compiled then return true end
  local ok, wrong = compiled:check(arguments)
  return ok, wrong
end

-- "edit {…}": yes, to other arguments.
local function read_edit(asked, text)
  local arguments, wrong = json.decode(text)
  if type(arguments) ~= "table" or json.is_array(arguments) then
    return nil, "edit is followed by the arguments, as one JSON object" .. (wrong and (" (%s)"):format(wrong.message) or "")
  end
  local ok, misfit = fits(asked, arguments)
  if not ok then return nil, ("%s cannot be called with that: %s"):format(asked.tool, misfit) end
  return { verdict = "yes", arguments = arguments }
end

--- Reads an answer. A question without `always` is asked each time.
---@param text string
---@param asked {tool: string, always?: string, schema?: string} As its event has it (`approval_requested`).
---@return {verdict: "yes"|"no"|"always", why?: string, arguments?: table}?
---@return string? wrong Why it is no answer.
function decision.read(text, asked)
  local edit = text:match "^%s*edit%s+(.*)$"
  if edit then return read_edit(asked, edit) end
  local verdict = decision.verdict(text)
  if verdict == "always" and not asked.always then return nil, "this is asked each time: answer allow or deny" end
  if verdict then return { verdict = verdict } end
  local word, why = trim.both(text):match "^(%a+)%s*[,:]?%s+(.+)$"
  if word and no[word:lower()] then return { verdict = "no", why = why } end
  return nil, ("this asks for permission to call a tool, and is answered with allow, deny (and a reason, if you like)%s or edit and its arguments as one JSON object")
    :format(asked.always and ", always" or "")
end

return decision

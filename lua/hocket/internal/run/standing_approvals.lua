--- What "always" says yes to: what a person has seen, and no more. This agent, this tool, arguments like the ones that were
--- shown, as long as the conversation has read nothing worse than then.
---
---     a path that is changed      files in the same folder
---     an address                  the same host and port
---     what is written there       anything
---     every other argument        the same again
local edition = require "hocket.internal.base.edition"
local egress = require "hocket.internal.run.egress"
local json = require "hocket.json"
local labels = require "hocket.internal.base.labels"
local sanitize = require "hocket.internal.base.sanitize"

local standing = {}

---@class hocket.StandingApproval
---@field agent string
---@field tool string
---@field labels integer
---@field like table<string, {kind: "same"|"folder"|"host", value: string}> By argument; the others are free, where the tool changes places.
---@field free boolean

local function text_of(value)
  return type(value) == "string" and value or json.encode(value)
end

local function folder_of(path)
  return path:match "^(.*/)[^/]*$"
end

-- How one argument has to look.
local function rule_for(one, name, value)
  local is_text = type(value) == "string"
  if one and one.places and one.places[name] and is_text and folder_of(value) then return { kind = "folder", value = folder_of(value) } end
  if one and one.places and not one.places[name] and name ~= one.subject then return nil end
  if one and one.sends_to and is_text and name == one.subject then return { kind = "host", value = value } end
  return { kind = "same", value = text_of(value) }
end

--- What an "always" to this call would cover.
---@param about {agent: string, tool: string, arguments: table|string, of?: hocket.Tool, labels?: integer}
---@return hocket.StandingApproval
function standing.of(about)
  local made = { agent = about.agent, tool = about.tool, labels = about.labels or 0, like = {}, free = about.of ~= nil and about.of.places ~= nil }
  local args = type(about.arguments) == "table" and about.arguments or { [""] = about.arguments }
  for name, value in pairs(args) do made.like[tostring(name)] = rule_for(about.of, name, value) end
  return made
end

local function fits(like, value)
  if like.kind == "folder" then return type(value) == "string" and value:sub(1, #like.value) == like.value end
  if like.kind == "host" then return type(value) == "string" and egress.same_host(like.value, value) end
  return text_of(value) == like.value
end

--- Whether a call is covered.
---@param self hocket.StandingApproval
---@param about {agent: string, tool: string, arguments: table|string, labels?: integer}
---@return boolean
function standing.covers(self, about)
  if self.agent ~= about.agent or self.tool ~= about.tool or (about.labels or 0) & ~self.labels ~= 0 then return false end
  local args = type(about.arguments) == "table" and about.arguments or { [""] = about.arguments }
  for name, like in pairs(self.like) do
    if args[name] == nil or not fits(like, args[name]) then return false end
  end
  for name in pairs(args) do
    if not self.free and not self.like[tostring(name)] then return false end
  end
  return true
end

local function host_of(address)
  return address:match "^(%w+://[^/?#]+)" or address
end

-- What has to look alike, in words; and whether something has to be the same.
local function parts_of(self)
  local parts, exact = {}, false
  for name, like in pairs(self.like) do
    if like.kind == "folder" then parts[#parts + 1] = ("%s in %s"):format(name, like.value) end
    if like.kind == "host" then parts[#parts + 1] = ("%s on %s"):format(name, host_of(like.value)) end
    if like.kind == "same" and self.free then parts[#parts + 1] = ("%s %s"):format(name, like.value) end
    exact = exact or like.kind == "same" and not self.free
  end
  table.sort(parts)
  return parts, exact
end

-- As it stands in the events of runs that were begun before.
local function words_of_edition_1(self)
  local parts, exact = parts_of(self)
  local with = #parts > 0 and " with " .. table.concat(parts, ", ") .. (exact and ", all else as shown" or self.free and ", whatever is written" or "")
    or exact and " with exactly these arguments" or ""
  local unless = self.labels & labels.STRANGE ~= labels.STRANGE and ", unless it reads text from elsewhere that it has not read yet" or ""
  return sanitize.text(("%s may call %s%s again in this run%s"):format(self.agent, self.tool, with, unless))
end

--- The same in words, for whoever is asked.
---@param self hocket.StandingApproval
---@param run hocket.Run
---@return string
function standing.words(self, run)
  if edition.of(run) < 2 then return words_of_edition_1(self) end
  local parts, exact = parts_of(self)
  local what = #parts > 0 and "calls with " .. table.concat(parts, ", ") .. (exact and ", all else as shown" or self.free and ", any content" or "")
    or "this exact call"
  local unless = self.labels & labels.STRANGE ~= labels.STRANGE and "; asks again after untrusted text" or ""
  return sanitize.text(("%s in this run%s"):format(what, unless))
end

return standing

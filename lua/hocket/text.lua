--- Texts for models and people: shortens them, makes them safe to display, and suggests the word that was
--- probably meant.
---
---     local text = require "hocket.text"
---     print(text.truncate("a long story", 6, "…"), text.suggest("modle", { "model", "tools" }))
---     print(text.sanitize { path = "safe\u{202e}txt.exe" })
local arguments = require("hocket.internal.base.arguments").check
local lazy = require "hocket.internal.base.lazy"
local sanitize = lazy "hocket.internal.base.sanitize"
local suggest = lazy "hocket.internal.base.suggest"
local truncate = require "hocket.internal.base.truncate"

local text = {}

--- The beginning of a text, of at most `max` bytes, cut between two characters.
---@param of string
---@param max integer
---@param mark? string What follows a text that was cut: "…".
---@return string
function text.truncate(of, max, mark)
  arguments("text.truncate", 1, "string", of)
  arguments("text.truncate", 2, "integer", max)
  arguments("text.truncate", 3, "string?", mark)
  return truncate(of, max, mark)
end

--- A value as JSON that a person can judge: invisible characters, and ones that change the look of others, become
--- escapes.
---@param value any What JSON can hold.
---@return string
function text.sanitize(value)
  return sanitize.encode(value)
end

--- The word of a list that somebody probably meant; nil if none is near enough to be a slip.
---@param word string
---@param known string[]
---@return string?
function text.suggest(word, known)
  arguments("text.suggest", 1, "string", word)
  arguments("text.suggest", 2, "table", known)
  return suggest(word, known)
end

return text

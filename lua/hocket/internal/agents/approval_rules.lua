--- Rules of `approve:`, as text and as data. A rule names a tool and, when it likes, what an argument
--- looks like:
---
---     execute_command                 every call of the tool
---     execute_command(git *)          whose main argument looks like that
---     write_file(path=docs/**)        whose argument `path` does
---     *                               every tool
---
--- In globs `*` stands for any characters, `?` for one. What a rule means, and in which order rules count, is
--- the permission check's business.
local kinds = require "hocket.internal.agents.kinds"

---@class hocket.ApproveRule
---@field tool string A tool's name, or a glob of names.
---@field argument? string The argument that `match` is for; nil: the tool's main one.
---@field match? string A glob; nil: whatever the arguments are.
---@field text string As it was written.

local approve = {}

--- Reads a rule.
---@param text string
---@return hocket.ApproveRule?
---@return string? wrong
function approve.rule(text)
  local name, inside = text:match "^%s*([%w_%-%*%?]+)%s*$", nil
  if not name then name, inside = text:match "^%s*([%w_%-%*%?]+)%s*%((.*)%)%s*$" end
  if not name then return nil, ("is no rule: write tool, or tool(glob), or tool(argument=glob), not '%s'"):format(text:sub(1, 60)) end
  local argument, match = nil, inside
  if inside then
    local key, glob = inside:match "^%s*([%a_][%w_]*)=(.*)$"
    if key then argument, match = key, glob end
    if match == "" then return nil, "has an empty pair of brackets: name a glob, or leave them out" end
  end
  return { tool = name, argument = argument, match = match, text = text }
end

local rule = {
  text = "a rule", example = "'execute_command(git *)'",
  takes = function(v) return type(v) == "string" and v ~= "" end, json = kinds.text.json,
  read = function(value, ctx, pointer)
    local one, wrong = approve.rule(value)
    if not one then
      ctx:say(pointer, wrong)
      return nil
    end
    return one
  end,
}

local rules = kinds.list(rule, { text = "a list of rules", example = "[move_file, 'execute_command(git *)']" })

local decisions = kinds.map({
  { name = "deny", kind = rules, default = {}, doc = "calls that are refused" },
  { name = "ask", kind = rules, default = {}, doc = "calls that need approval; without a person they are refused" },
  { name = "allow", kind = rules, default = {}, doc = "calls that the run may allow; other calls of the same tools need approval" },
}, "deny, ask and allow with rules", "{ask: [write_file], deny: ['execute_command(rm *)']}")

--- The kind of `approve:`: one word for every tool, or lists of rules.
approve.kind = kinds.either(kinds.with(kinds.word { "deny", "ask", "allow" }, function(word)
  local all = { deny = {}, ask = {}, allow = {} }
  if all[word] then all[word][1] = { tool = "*", text = "*" } end
  return all
end), decisions)
approve.kind.fields = decisions.fields

return approve

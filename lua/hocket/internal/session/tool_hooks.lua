--- The hooks of a tool call (run/hooks.lua). They come first: rules and a person's approval see the arguments that they give, and no hook
--- changes them afterwards. Arguments that a person changes pass the hooks once more, which can only deny them.
local json = require "hocket.json"
local permission = require "hocket.permission"

local tool_hooks = {}

local function about_call(self, one, args, more)
  local about = { agent = self.permissions.agent, tool = one.name, arguments = args }
  for name, value in pairs(more or {}) do about[name] = value end
  return about
end

local function refuse(self, one, why)
  self.emit("tool_denied", { tool = one.name, reason = "a hook denied it: " .. why })
  return nil, ("'%s' was not allowed: %s. It was not done. Do without it, or say what you would need and why."):format(one.name, why)
end

--- Asks the hooks before a call: what they say of it, with arguments that fit; or nil and the refusal, in words for the model.
---@async
---@param self hocket.Session
---@param hooks hocket.Hooks
---@param one hocket.Tool
---@param args table
---@return hocket.HookDecision? said With an `answer` nothing is called; `arguments` are the ones to call it with.
---@return string? refused
function tool_hooks.before(self, hooks, one, args)
  local said = hooks:ask("before_tool", one.name, about_call(self, one, args), self.emit)
  if said and said.deny then return refuse(self, one, said.deny) end
  if said and said.arguments then
    local fitted, wrong = permission.fit(one, said.arguments)
    if not fitted then return refuse(self, one, "a hook gave arguments that do not fit: " .. wrong) end
    said.arguments = fitted
  end
  return said
end

--- Asks them about what a person has put in place of the arguments: the refusal, or nil.
---@async
---@param self hocket.Session
---@param hooks hocket.Hooks
---@param one hocket.Tool
---@param args table
---@return string? refused
function tool_hooks.again(self, hooks, one, args)
  local said = hooks:ask("before_tool", one.name, about_call(self, one, args, { by = "person" }), self.emit)
  if not said or not said.deny then return nil end
  return select(2, refuse(self, one, said.deny))
end

--- What stands before a result whose arguments a hook has changed.
---@param said hocket.HookDecision?
---@param text string
---@return string
function tool_hooks.note(said, text)
  return said and said.arguments and ("A hook changed the arguments: %s\n%s"):format(json.encode(said.arguments), text) or text
end

--- The result, as the hooks behind the call leave it, and what the model reads below it.
---@async
---@param self hocket.Session
---@param hooks hocket.Hooks
---@param one hocket.Tool
---@param args table
---@param text string
---@param is_error? boolean
---@param before? hocket.HookDecision
---@return string text
---@return boolean? is_error
---@return string? context
function tool_hooks.after(self, hooks, one, args, text, is_error, before)
  local said = hooks:ask("after_tool", one.name, about_call(self, one, args, { result = text, error = is_error or nil }), self.emit)
  local context = before and before.context
  if not said then return text, is_error, context end
  if said.answer ~= nil then text, is_error = said.answer, false end
  if said.context then context = context and context .. "\n" .. said.context or said.context end
  return text, is_error, context
end

return tool_hooks

--- `tools: [todo]`: the to-do list of one agent, under the rules of the task board. The list is a board of its own, so events, terminal and page
--- show it as they show a plan.
---
---     pending ──> in_progress ──> completed          exactly one item is in progress while anything is left
---        └───────────┴── put off (pending), or left out of the list: cancelled
---
--- The model sends the whole list. The runtime compares it with the list before, and refuses what breaks a rule: an item that was not begun is not
--- completed, and a completed item is never opened again.
local board = require "hocket.board"
local fence = require "hocket.internal.base.lazy" "hocket.fence"
local json = require "hocket.json"
local tool = require "hocket.tool"

local todo = {}

--- Open items of a list where the agent's file has no `task_limit`.
local LIMIT = 20

local parameters = {
  type = "object", required = { "items" }, additionalProperties = false,
  properties = { items = {
    type = "array", minItems = 1, items = {
      type = "object", required = { "content", "active_form", "status" },
      properties = json.object {
        { "content", { type = "string", minLength = 1, maxLength = 500, description = "What to do, as in 'Run the tests'" } },
        { "active_form", { type = "string", minLength = 1, maxLength = 500, description = "The same while you do it, as in 'Running the tests'" } },
        { "status", { type = "string", enum = { "pending", "in_progress", "completed" } } },
      },
    },
  } },
}

---@class hocket.TodoList
---@field board hocket.Board
---@field limit integer
---@field order string[] Contents of the items on the list.
---@field by_content table<string, {id: integer, status: "pending"|"in_progress"|"completed"}>
local List = {}
List.__index = List

local function open_items(self)
  local open = {}
  for _, content in ipairs(self.order) do
    if self.by_content[content].status ~= "completed" then open[#open + 1] = content end
  end
  return open
end

-- ---- The rules --------------------------------------------------------------------------------

-- What one item breaks, given what it was before.
local function wrong_item(was, item)
  if was and was.status == "completed" and item.status ~= "completed" then
    return ("'%s' is completed: put what is left of it on the list as a new item"):format(item.content)
  elseif item.status == "completed" and (not was or was.status == "pending") then
    return ("'%s' was not in progress: begin an item first, and complete it as soon as it is done"):format(item.content)
  end
end

local function wrong_with(self, items)
  if #items > self.limit + #self.order then return ("- the list has %d items: %d may be open"):format(#items, self.limit) end
  local wrong, seen, working, left = {}, {}, 0, 0
  for _, item in ipairs(items) do
    if seen[item.content] then wrong[#wrong + 1] = ("'%s' is on the list twice"):format(item.content) end
    seen[item.content] = true
    wrong[#wrong + 1] = wrong_item(self.by_content[item.content], item)
    working = working + (item.status == "in_progress" and 1 or 0)
    left = left + (item.status ~= "completed" and 1 or 0)
  end
  if left > 0 and working ~= 1 then wrong[#wrong + 1] = ("%d items are in progress: it has to be exactly one"):format(working) end
  if left > self.limit then wrong[#wrong + 1] = ("%d items are open: %d is the limit"):format(left, self.limit) end
  return #wrong > 0 and "- " .. table.concat(wrong, "\n- ") or nil
end

-- ---- Changes ----------------------------------------------------------------------------------

local function add_new(self, name, items)
  local new, texts = {}, {}
  for _, item in ipairs(items) do
    if not self.by_content[item.content] then
      new[#new + 1] = item.content
      texts[#texts + 1] = { text = item.content, assigned_to = name, active_form = item.active_form }
    end
  end
  if #new == 0 then return true end
  self.board:allow(#new)
  local ids, err = self.board:create(name, texts)
  if not ids then return nil, err end
  for i, content in ipairs(new) do self.by_content[content] = { id = ids[i], status = "pending" } end
  return true
end

local moves = {
  in_progress = function(self, name, id) return self.board:start(name, { id }) end,
  completed = function(self, name, id) return self.board:complete(name, { id }, id) end,
  pending = function(self, name, id) return self.board:fail(name, id, "put off") end,
}

-- Completed and put off first: one item is in progress at any time.
local function move(self, name, items)
  for _, status in ipairs { "completed", "pending", "in_progress" } do
    for _, item in ipairs(items) do
      local one = self.by_content[item.content]
      if item.status == status and one.status ~= status then
        local ok, err = moves[status](self, name, one.id)
        if not ok then return nil, err end
        one.status = status
      end
    end
  end
  return true
end

-- What the new list leaves out is not going to be done.
local function drop(self, name, items)
  local stays = {}
  for _, item in ipairs(items) do stays[item.content] = true end
  for _, content in ipairs(self.order) do
    local one = self.by_content[content]
    if not stays[content] and one.status ~= "completed" then
      self.board:cancel(name, one.id, "taken off the list")
      self.by_content[content] = nil
    end
  end
end

local function same(self, items)
  if #items ~= #self.order then return false end
  for i, item in ipairs(items) do
    if self.order[i] ~= item.content or self.by_content[item.content].status ~= item.status then return false end
  end
  return true
end

local function told(self)
  local open = open_items(self)
  if #open == 0 then return ("all %d items are completed"):format(#self.order) end
  for _, content in ipairs(open) do
    if self.by_content[content].status == "in_progress" then return ("%d of %d items are open; in progress: %s"):format(#open, #self.order, content) end
  end
end

---@param name string Whose it is.
---@param items {content: string, active_form: string, status: string}[]
---@return string? told
---@return hocket.Error?
function List:write(name, items)
  local wrong = wrong_with(self, items)
  if wrong then return nil, { code = "invalid", message = "the list stays as it was:\n" .. wrong } end
  if same(self, items) then return "nothing has changed: " .. told(self) end
  local ok, err = add_new(self, name, items) -- first: the board may refuse a text, and then the list stays as it was
  if not ok then return nil, err end
  drop(self, name, items)
  ok, err = move(self, name, items)
  if not ok then return nil, err end
  self.order = {}
  for i, item in ipairs(items) do self.order[i] = item.content end
  return told(self)
end

-- An answer with open items is taken at the second try: the result then tells what was left.
local function remind(self)
  local open = open_items(self)
  if #open == 0 or self.reminded then return nil end
  self.reminded = true
  return "Your to-do list has open items:\n" .. fence.wrap("board", "your list", "- " .. table.concat(open, "\n- "))
    .. "\nDo them, or take off the list what is not going to be done. Then answer. If you need something from the user, answer with the question."
end

-- ---- The tool ---------------------------------------------------------------------------------

local write = tool {
  steps = true, name = "todo",
  description = "Write your whole to-do list. Exactly one item is in progress while any is open. Complete an item at once when it is fully done, never before; then begin the next.",
  parameters = parameters,
  run = function(args, ctx) return ctx.todo:write(ctx.agent.name, args.items) end,
}

-- In a conversation the list stays over its turns.
local function list_for(env)
  local name = env.agent.name
  local held = env.held and (env.held[name] or {})
  if held then env.held[name] = held end
  local list = held and held.todo
  if list then
    list.reminded = false
    return list
  end
  list = setmetatable({ board = board { limit = 1, agents = { name } }, limit = env.agent.task_limit or LIMIT, order = {}, by_content = {} }, List)
  env.run:adopt { board = list.board }
  env.run:expect(list.board)
  if held then held.todo = list end
  return list
end

---@param env table
---@return hocket.Tool
function todo.make(_, env)
  if not env.before_answer then return write end -- nobody is at work: `hocket tools` describes it
  env.todo = list_for(env)
  table.insert(env.before_answer, function() return remind(env.todo) end)
  return write
end

---@return table parameters JSON Schema.
function todo.parameters() return parameters end

return todo

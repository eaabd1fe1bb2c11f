---@meta

--- A model call that has its reply (internal/models/calls.lua). Its tool calls are handed out one by one, and it is a
--- to-be-closed value: closed, every call of a tool has its result in the history.
---@class hocket.Call
local call = {}

--- Adds the reply to the history.
---@return true? ok
---@return hocket.Error?
function call:keep() end

--- The same, and tells of it: the event `model_reply`.
---@param tell hocket.EventWriter|fun(type: string, payload: table)|false Receives the events.
---@param model? string
---@param attempts integer
---@return integer? calls How many tools it calls.
---@return string|hocket.Error finish
---@return string? text Where it is not blank.
---@return boolean? more Whether call:found() has anything.
---@return string? reasoning As much of it as its event shows, where it is not blank.
function call:accept(tell, model, attempts) end

--- How many calls its text is made of, which are its calls from then on, until take_text says whether they are made; nothing when
--- the text is an answer.
---@return integer?
---@internal
function call:read_text() end

--- After read_text: the calls take the place of the text, or the text stays and they are dropped.
---@param are_calls boolean
---@internal
function call:take_text(are_calls) end

--- The reply, which is not in the history yet, has this text and nothing else: it calls no tool.
---@param text string
---@internal
function call:replace(text) end

---@return boolean yes Whether its calls were written as text.
---@internal
function call:as_text() end

--- The reply as a table, without what the asker knows beside.
---@return table
function call:reply() end

--- How many tools it calls.
---@return integer
function call:count() end

--- What its answer has beside words and calls, the kinds of what the provider's own tools did, and its counts as they came: JSON,
--- the first without the brackets of its list. Nothing when there is neither.
---@return string? found
---@return string? kinds
---@return string? usage
---@internal
function call:found() end

---@param i integer
---@return string name Of the tool that it calls.
function call:name(i) end

---@param i integer
---@return string id
function call:id(i) end

--- Its name and arguments on one line, for whoever looks on: at most 120 bytes of the arguments.
---@param i integer
---@return string
function call:preview(i) end

--- The arguments of a call. Blank ones are an empty object.
---@param i integer
---@param schema? hocket.Schema
---@return table? arguments
---@return "json"|"object"|"fit"|nil wrong They are no JSON, no object, or do not fit.
---@return string? why
function call:arguments(i, schema) end

--- It is made with other arguments than the model's; what the history has of it stays.
---@param i integer
---@param arguments string JSON.
function call:change(i, arguments) end

--- Tells of a call that is about to be made: the event `tool_started`.
---@param i integer
---@param tell hocket.EventWriter|fun(type: string, payload: table)|false
function call:begins(i, tell) end

--- Tells of a call that was made: the event `tool_call`.
---@param i integer
---@param tell hocket.EventWriter|fun(type: string, payload: table)|false
---@param text string The result.
---@param is_error? boolean
function call:tell(i, tell, text, is_error) end

--- Sets the result of a call. The ones that have none when it is closed were cancelled.
---@param i integer
---@param text string
---@param is_error? boolean
function call:result(i, text, is_error) end

--- Whether the server has reported how many tokens it took.
---@return boolean
function call:metered() end

--- Appends to the result of a call.
---@param i integer
---@param text string
function call:remark(i, text) end

--- Gives every call the same result, an error, and closes.
---@param text string
function call:refuse(text) end

--- Puts the results into the history. Once.
function call:close() end

--- A number that a call of the same tool with the same arguments and the same result has, too.
---@param i integer
---@return integer
function call:digest(i) end

---@meta

--- A conversation with a model: the messages of each request. Made by `hocket.llm.history`.
--- `#history` is the number of messages.
---@class hocket.History
local history = {}

--- Adds a user's message.
---@param text string
---@return true? ok
---@return hocket.Error?
function history:user(text) end

--- Adds a message in the neutral form, as a table or as JSON text.
---@param message table|string
---@return true? ok
---@return hocket.Error?
function history:add(message) end

--- Adds the result of a tool call.
---@param call {id: string, name: string} A call of a reply.
---@param text string
---@param is_error? boolean
---@return true? ok
---@return hocket.Error?
function history:result(call, text, is_error) end

--- Tells of a request with everything that was said so far: the event `model_request`.
---@param tell hocket.EventWriter|fun(type: string, payload: table)|false Receives the events.
---@param model? string
---@param simulated? boolean
---@param turn integer
---@internal
function history:tell(tell, model, simulated, turn) end

--- The messages in the neutral form.
---@return table[]
function history:messages() end

--- The messages as JSON lines, which `add` accepts one by one.
---@return string
function history:lines() end

--- The origin of its text, as bits: 1 the web, 2 files outside the project, 4 other servers. Its later messages have a member
--- `labels`, and `add` reads it. So a conversation that is stored as its messages keeps its need for
--- approval.
---@param more? integer Bits to add.
---@return integer bits
function history:labels(more) end

--- Gives back memory that only a coming request needs.
---@internal
function history:shrink() end

--- How large it is.
---@return integer bytes Of its messages in the neutral form.
---@internal
function history:size() end

--- What was said so far, as 16 hexadecimal digits: of another history the same when the same was added to it.
---@return string
---@internal
function history:digest() end

--- What is known of its tokens.
---@return integer counted By the provider, with the last answer; 0: nothing yet.
---@return integer known The guess for the messages among that.
---@return integer rest The guess for the messages behind it.
---@internal
function history:tokens() end

--- It has another one's messages from now on, and that one none. Labels are never lost.
---@param other hocket.History
---@internal
function history:become(other) end

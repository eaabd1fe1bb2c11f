--- Spans of agents, of the tools that they call, and of what MCP servers are asked.
local messages = require "hocket.internal.base.lazy" "hocket.internal.telemetry.messages"
local span_of = require "hocket.internal.telemetry.span"
local put, begin, fail, finish, close_below, measure = span_of.put, span_of.begin, span_of.fail, span_of.finish, span_of.close_below, span_of.measure

local begins, ends = {}, {}

-- ---- Agents ------------------------------------------------------------------------------------------------

function begins.agent(self, note)
  local span = begin(self, "agent", note.id, note.parent, note.time, note.agent)
  if not span then return end
  local list = span.attributes
  put(self, list, "operation", "invoke_agent")
  put(self, list, "agent", note.agent)
  put(self, list, "agent_description", note.description)
  put(self, list, "conversation", self.run.options.conversation and self.run.id or nil)
  put(self, list, "op", note.op)
  put(self, list, "trigger", note.trigger)
  span.agent = note.agent
end

function ends.agent(self, span, note)
  fail(self, span, note.error, note.message)
  close_below(self, span.id, note.time, note.replayed)
  finish(self, span, note.time, note.replayed)
  if not note.replayed then measure(self, "agent_seconds", span, { "agent", span.agent }) end
end

-- ---- Tools -----------------------------------------------------------------------------------------------------

function begins.tool(self, note)
  local span = begin(self, "tool", note.id, note.parent, note.time, note.tool)
  if not span then return end
  local list = span.attributes
  span.tool, span.arguments = note.tool, note.arguments
  put(self, list, "operation", "execute_tool")
  put(self, list, "tool", note.tool)
  put(self, list, "tool_type", note.set == "mcp" and "extension" or "function")
  put(self, list, "tool_description", note.description)
  put(self, list, "call_id", note.call)
  put(self, list, "agent", note.agent)
end

local function tell_server(self, span, about)
  local list = span.attributes
  put(self, list, "mcp_method", about.method or "tools/call")
  put(self, list, "mcp_server", about.server)
  put(self, list, "tool_set", about.tool)
  put(self, list, "mcp_version", about.version)
  put(self, list, "mcp_session", about.session)
  put(self, list, "rpc_id", about.id and tostring(about.id))
  put(self, list, "transport", about.transport)
  put(self, list, "protocol", about.transport == "tcp" and "http" or nil)
  put(self, list, "address", about.address)
  put(self, list, "port", about.port)
end

function ends.tool(self, span, note)
  if note.began then span.from = math.max(span.from, note.began) end
  fail(self, span, note.refused and "denied" or note.error)
  if note.mcp then tell_server(self, span, note.mcp) end
  if self.sink.config.content.span and note.result then
    put(self, span.attributes, "arguments", messages.encode(span.arguments))
    put(self, span.attributes, "result", note.result)
  end
  close_below(self, span.id, note.time, note.replayed)
  finish(self, span, note.time, note.replayed)
  if note.replayed then return end
  measure(self, "tool_seconds", span, { "tool", span.tool })
  if note.mcp then measure(self, "mcp_seconds", span, { "tool", span.tool, "mcp_method", "tools/call", "transport", note.mcp.transport }) end
end

-- ---- MCP ---------------------------------------------------------------------------------------------------------

function begins.rpc(self, note)
  local about = note.about
  local span = begin(self, "rpc", note.id, note.parent, note.time, about.name and about.method .. " " .. about.name or about.method)
  if not span then return end
  span.about = about
  tell_server(self, span, about)
  put(self, span.attributes, about.method == "prompts/get" and "prompt" or "tool", about.name)
  put(self, span.attributes, "resource", about.uri)
end

function ends.rpc(self, span, note)
  fail(self, span, note.error, note.message)
  put(self, span.attributes, "rpc_status", note.rpc)
  finish(self, span, note.time, note.replayed)
  if note.replayed then return end
  local about = span.about
  measure(self, "mcp_seconds", span, { "mcp_method", about.method, about.method == "prompts/get" and "prompt" or "tool", about.name, "transport", about.transport, "rpc_status", note.rpc })
end

return { begins = begins, ends = ends }

--- What is sent is called so: the one table of names, those of OpenTelemetry's GenAI conventions. Nothing else in this folder spells one.
---
---     v1.41.0   the last set with a version: what is sent unless somebody says otherwise
---     latest    where OTEL_SEMCONV_STABILITY_OPT_IN has gen_ai_latest_experimental: of semantic-conventions-genai
---
--- Ours, which they have no name for, begin with "hocket.".
local names = {}

names.SCOPE = "hocket"
--- What stands before names of ours, the event with what was said in a call, and the attribute of all points that were too many.
names.OURS, names.DETAILS, names.OVERFLOW = "hocket.", "gen_ai.client.inference.operation.details", "otel.metric.overflow"
names.SCHEMA = "https://opentelemetry.io/schemas/1.41.0"

local seconds = { 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92 }
local tokens = { 1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864 }

-- By what we call it. `attributes` is shared but for what `latest` says; false: not sent there.
local attributes = {
  operation = "gen_ai.operation.name", provider = "gen_ai.provider.name", conversation = "gen_ai.conversation.id", output_type = "gen_ai.output.type",
  workflow = "gen_ai.workflow.name", agent = "gen_ai.agent.name", agent_description = "gen_ai.agent.description", token_type = "gen_ai.token.type",
  model = "gen_ai.request.model", temperature = "gen_ai.request.temperature", top_p = "gen_ai.request.top_p", top_k = "gen_ai.request.top_k",
  max_tokens = "gen_ai.request.max_tokens", seed = "gen_ai.request.seed", stop = "gen_ai.request.stop_sequences", stream = "gen_ai.request.stream",
  response_id = "gen_ai.response.id", response_model = "gen_ai.response.model", finish = "gen_ai.response.finish_reasons",
  first_seconds = "gen_ai.response.time_to_first_chunk", input = "gen_ai.usage.input_tokens", output = "gen_ai.usage.output_tokens",
  cached = "gen_ai.usage.cache_read.input_tokens", cache_write = "gen_ai.usage.cache_creation.input_tokens",
  reasoning = "gen_ai.usage.reasoning.output_tokens", tool = "gen_ai.tool.name", tool_type = "gen_ai.tool.type",
  tool_description = "gen_ai.tool.description", call_id = "gen_ai.tool.call.id",
  dimensions = "gen_ai.embeddings.dimension.count", encodings = "gen_ai.request.encoding_formats",
  -- what was said: only where it is asked for
  input_messages = "gen_ai.input.messages", output_messages = "gen_ai.output.messages", system = "gen_ai.system_instructions",
  arguments = "gen_ai.tool.call.arguments", result = "gen_ai.tool.call.result",
  mcp_method = "mcp.method.name", mcp_session = "mcp.session.id", mcp_version = "mcp.protocol.version", rpc_id = "jsonrpc.request.id",
  rpc_status = "rpc.response.status_code", resource = "mcp.resource.uri", prompt = "gen_ai.prompt.name",
  transport = "network.transport", protocol = "network.protocol.name", protocol_version = "network.protocol.version", address = "server.address", port = "server.port",
  error_type = "error.type", http_method = "http.request.method", http_status = "http.response.status_code", resend = "http.request.resend_count",
  http_route = "http.route", url_path = "url.path", url_scheme = "url.scheme", client = "client.address", user_agent = "user_agent.original",
  run = "hocket.run.id", op = "hocket.op", trigger = "hocket.trigger", cost = "hocket.cost", simulated = "hocket.simulated", attempts = "hocket.attempts",
  delay = "hocket.retry.delay", reason = "hocket.reason", reused = "hocket.reused", wait = "hocket.wait.kind", wait_id = "hocket.wait.id",
  outcome = "hocket.wait.outcome", mcp_server = "hocket.mcp.server", tool_set = "hocket.tool.server_tool", signal = "hocket.signal",
  total_input = "hocket.total.input_tokens", total_output = "hocket.total.output_tokens", total_cost = "hocket.total.cost", total_calls = "hocket.total.model_calls",
  total_tools = "hocket.total.tool_calls",
  link = "hocket.link", dropped_of = "hocket.telemetry.signal",
}

local latest = { cache_write = "gen_ai.usage.cache_write.input_tokens" }

--- Spans: the operation, which the name begins with (false: the name is what was asked for), and the kind (of the protocol's numbers: 1 internal, 2 server, 3 client).
names.spans = {
  workflow = { "invoke_workflow", 1 }, agent = { "invoke_agent", 1 }, chat = { "chat", 3 }, tool = { "execute_tool", 1 },
  attempt = { "POST", 3 }, wait = { "wait", 1 }, served = { false, 2 }, embeddings = { "embeddings", 3 }, rpc = { false, 3 },
  http_request = { false, 2 }, mcp_request = { false, 2 },
}

local http_seconds = { 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10 }
local mcp_seconds = { 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300 }

-- Metrics, in the order in which they are sent: instrument, unit, boundaries of a histogram's buckets; per name of ours.
local metrics = {
  chat_seconds = { "gen_ai.client.operation.duration", "s", seconds }, agent_seconds = { "gen_ai.client.operation.duration", "s", seconds },
  tool_seconds = { "gen_ai.client.operation.duration", "s", seconds }, workflow_seconds = { "gen_ai.client.operation.duration", "s", seconds },
  first_seconds = { "gen_ai.client.operation.time_to_first_chunk", "s", seconds }, tokens = { "gen_ai.client.token.usage", "{token}", tokens },
  embeddings_seconds = { "gen_ai.client.operation.duration", "s", seconds },
  mcp_seconds = { "mcp.client.operation.duration", "s", mcp_seconds }, mcp_request_seconds = { "mcp.server.operation.duration", "s", mcp_seconds },
  http_request_seconds = { "http.server.request.duration", "s", http_seconds },
  cost = { "hocket.cost", "{USD}" }, dropped = { "hocket.telemetry.dropped", "{item}" },
}

local metrics_latest = {
  chat_seconds = { "gen_ai.client.inference.duration", "s", seconds }, agent_seconds = { "gen_ai.invoke_agent.duration", "s", seconds },
  tool_seconds = { "gen_ai.execute_tool.duration", "s", seconds }, workflow_seconds = { "gen_ai.invoke_workflow.duration", "s", seconds },
  first_seconds = { "gen_ai.client.inference.time_to_first_chunk", "s", seconds }, tokens = false,
  input = { "gen_ai.client.inference.usage.input_tokens", "{token}" }, output = { "gen_ai.client.inference.usage.output_tokens", "{token}" },
  cached = { "gen_ai.client.inference.usage.cache_read.input_tokens", "{token}" },
  cache_write = { "gen_ai.client.inference.usage.cache_write.input_tokens", "{token}" },
  reasoning = { "gen_ai.client.inference.usage.reasoning.output_tokens", "{token}" },
  embeddings_seconds = { "gen_ai.client.embeddings.duration", "s", seconds }, embedded = { "gen_ai.client.embeddings.operation.input_tokens", "{token}", tokens },
  input_per_call = { "gen_ai.client.inference.operation.input_tokens", "{token}", tokens },
  output_per_call = { "gen_ai.client.inference.operation.output_tokens", "{token}", tokens },
}

-- Providers as the conventions call them; others by our name for them.
local providers = {
  openai = "openai", ["openai-chat"] = "openai", ["openai-responses"] = "openai", anthropic = "anthropic", gemini = "gcp.gemini", bedrock = "aws.bedrock",
  azure = "azure.ai.openai", ["azure-chat"] = "azure.ai.openai", mistral = "mistral_ai", xai = "x_ai", deepseek = "deepseek", groq = "groq",
}

--- Records of a run that are reported as logs: the severity (9 info, 13 warning, 17 error), and the members that go along. All are also
--- events of the span of their agent. `op` stands in each.
names.events = {
  warning = { 13, "code" }, error = { 17, "code" }, agent_cut = { 13, "reason" }, tool_denied = { 13, "tool" }, host_refused = { 13, "tool" },
  model_retry = { 13, "model", "attempt", "delay", "reason" }, model_fallback = { 13, "from", "to", "reason" }, run_stopped = { 9 },
  routed = { 9, "to" }, handoff = { 9, "from", "to" }, reassigned = { 13, "from", "to", "code" }, team_finished = { 9, "reason", "rounds" }, replanned = { 13, "count" }, task_stalled = { 13, "stalls" }, task_split = { 9, "depth" }, task_blocked = { 13, "id" }, task_unblocked = { 9, "id" },
  compaction_finished = { 9, "reason", "strategy", "tokens_before", "tokens_after" }, run_reused = { 9, "replayed", "run_anew" },
  question_asked = { 9, "id", "kind" }, question_answered = { 9, "id" }, question_withdrawn = { 9, "id" }, approval_requested = { 9, "id", "tool" },
  approval_answered = { 9, "id", "tool", "decision" }, turn_finished = { 9, "turn", "ok", "finish" },
  user_message_received = { 9, "id" }, user_message_dropped = { 13, "id" }, task_failed = { 13, "task" },
}

--- Records that begin a wait for a person, a message, another run or a budget, what it is for, and the ones that end one.
names.waits = {
  question_asked = "question", approval_requested = "approval", input_requested = "input", signal_requested = "signal", run_awaited = "run",
  caller_awaited = "caller", budget_awaited = "budget",
}
names.waits_end = {
  question_answered = "answered", approval_answered = "answered", input_received = "answered", signal_received = "answered", question_withdrawn = "withdrawn",
  run_returned = "answered", caller_returned = "answered", budget_returned = "answered",
}

local function over(base, changes)
  return setmetatable({}, { __index = function(_, name)
    local value = changes[name]
    if value == nil then value = base[name] end
    return value
  end })
end

--- The names of one of both sets.
---@param is_latest boolean
---@return table<string, string|false> attributes
---@return table<string, table|false> metrics
function names.of(is_latest)
  if not is_latest then return attributes, metrics end
  return over(attributes, latest), over(metrics, metrics_latest)
end

---@param name string
---@return string
function names.provider(name)
  name = name:gsub("^sim%-", "")
  return providers[name] or name
end

return names

-- What the answer is, at every door: what an agent says beside a call is progress, and the JSON of one with `output` comes alone.
local t = require "harness"
local acp_client = require "acp_client"
local client = require "hocket.internal.mcp.client"
local hocket = require "hocket"
local json = require "hocket.json"
local serving = require "serving"

hocket.broker() -- its dispatcher lives as long as the host

local function reply(q)
  if q.last.role ~= "tool" then return { text = "I look first.", calls = { { name = "list_directory", arguments = { path = "." } } } } end
  return q.system:find "You are form" and '{"title": "Heat pumps"}' or "Here is the answer."
end

local served = assert(hocket.sim.serve { reply = reply })
hocket.provider("said", { protocol = "openai_chat", base = served.base })

local files = {
  ["agents/plain.md"] = "---\nname: plain\ndescription: Answers\ntools: [list_directory]\nmodel: said/m\n---\nYou are plain.",
  ["agents/form.md"] = "---\nname: form\ndescription: Answers\ntools: [list_directory]\nmodel: said/m\n"
    .. "output: {type: object, required: [title], properties: {title: {type: string}}}\n---\nYou are form.",
}
local answers = { plain = "Here is the answer.", form = '{"title": "Heat pumps"}' }

-- Each door: the answer, and what was said before it, as a client sees them.
local doors = {}

local function said() return { { role = "user", content = "Go" } } end

function doors.chat(s, name)
  local _, got = s:post("/v1/chat/completions", { model = name, messages = said() })
  t.equal(got.hocket.answer_from, nil)
  return got.choices[1].message.content, ""
end

local function cut(text, from)
  return text:sub(from + 1), (text:sub(1, from):gsub("\n\n$", ""))
end

function doors.chat_stream(s, name)
  local _, list = s:stream("/v1/chat/completions", { model = name, messages = said(), stream = true })
  local parts, from = {}, nil
  for _, one in ipairs(list) do
    local choice = type(one.data) == "table" and one.data.choices[1]
    if choice then parts[#parts + 1], from = choice.delta.content or "", choice.finish_reason == "stop" and one.data.hocket.answer_from or from end
  end
  return cut(table.concat(parts), from)
end

local function messages_of(output)
  local answer, before = "", ""
  for _, item in ipairs(output) do
    if item.type == "message" and item.phase == "commentary" then before = before .. item.content[1].text
    elseif item.type == "message" then answer = answer .. item.content[1].text end
  end
  return answer, before
end

function doors.responses(s, name)
  local _, got = s:post("/v1/responses", { model = name, input = "Go" })
  return messages_of(got.output)
end

function doors.responses_stream(s, name)
  local _, list = s:stream("/v1/responses", { model = name, input = "Go", stream = true })
  local items, last = {}, list[#list].data.response.output
  for _, one in ipairs(list) do if one.event == "response.output_item.done" then items[#items + 1] = one.data.item end end
  t.equal(select(2, messages_of(items)), select(2, messages_of(last)))
  return messages_of(items)
end

function doors.anthropic(s, name)
  local _, got = s:post("/v1/messages", { model = name, max_tokens = 100, messages = said() })
  return got.content[1].text, ""
end

function doors.anthropic_stream(s, name)
  local _, list = s:stream("/v1/messages", { model = name, max_tokens = 100, messages = said(), stream = true })
  local parts, from = {}, nil
  for _, one in ipairs(list) do
    if one.event == "content_block_delta" then parts[#parts + 1] = one.data.delta.text
    elseif one.event == "message_delta" then from = one.data.hocket.answer_from end
  end
  return cut(table.concat(parts), from)
end

function doors.a2a(s, name)
  local message = { messageId = "m", role = "ROLE_USER", parts = { { text = "Go" } } }
  local _, got = s:post("/a2a/" .. name, { jsonrpc = "2.0", id = 1, method = "SendMessage", params = { message = message } }, { ["a2a-version"] = "1.0" })
  return got.result.task.artifacts[1].parts[1].text, ""
end

function doors.agui(s, name)
  local _, list = s:stream("/agui/" .. name, { threadId = "t", runId = "r", messages = { { id = "u", role = "user", content = "Go" } } })
  local texts, order, aside = {}, {}, {}
  for _, one in ipairs(list) do
    local e = one.data
    if e.type == "TEXT_MESSAGE_START" then order[#order + 1], texts[e.messageId] = e.messageId, ""
    elseif e.type == "TEXT_MESSAGE_CONTENT" then texts[e.messageId] = texts[e.messageId] .. e.delta
    elseif e.type == "CUSTOM" and e.name == "hocket.commentary" then aside[e.value.messageId] = true end
  end
  local answer, before = "", ""
  for _, id in ipairs(order) do if aside[id] then before = before .. texts[id] else answer = answer .. texts[id] end end
  return answer, before
end

function doors.acp(_, name, dir)
  local c <close> = acp_client.open { target = ("%s/agents/%s.md"):format(dir.path, name), options = { trust = false } }
  c:session(dir.path)
  assert(c:prompt "Go")
  local texts, order = {}, {}
  for _, one in ipairs(c:of "agent_message_chunk") do
    if not texts[one.messageId] then order[#order + 1] = one.messageId end
    texts[one.messageId] = (texts[one.messageId] or "") .. one.content.text
  end
  local aside, answer, before = {}, "", ""
  for _, call in ipairs(c:of "tool_call") do aside[call._meta and call._meta["hocket/commentary"] or ""] = true end
  for _, id in ipairs(order) do if aside[id] then before = before .. texts[id] else answer = answer .. texts[id] end end
  return answer, before
end

function doors.mcp(s, name)
  local c = assert(client.connect { name = "ours", era = "modern", url = s.base .. "/mcp", headers = { authorization = "Bearer secret" } })
  local closing <close> = setmetatable({}, { __close = function() c:close() end })
  return assert(c:call(name, { input = "Go" })).content[1].text, ""
end

local shows_progress = { chat_stream = true, responses = true, responses_stream = true, anthropic_stream = true, agui = true, acp = true }

for name, fn in pairs(doors) do
  t.test(name, function()
    local dir <close> = t.dir()
    for path, text in pairs(files) do dir:write(path, text) end
    local server <close> = serving.open(dir.path .. "/agents")
    local answer, before = fn(server, "plain", dir)
    t.equal(answer, answers.plain)
    t.equal(before, shows_progress[name] and "I look first." or "")
    answer, before = fn(server, "form", dir)
    t.same(json.decode(answer), json.decode(answers.form))
    if name ~= "acp" then t.equal(before, "") end -- an editor is shown what is said beside calls
  end)
end

served.close()
return t.finish()

--- Doors of a server in this process (serving.lua). Each lets an agent answer a text: what a client gets, as one text; and the run, where the door names it.
local t = require "harness"

local doors = {}

function doors.chat(s, of, text)
  local status, got, headers = s:post("/v1/chat/completions", { model = of, messages = { { role = "user", content = text } } })
  if status ~= 200 then return ("%d %s"):format(status, got.error.message) end
  t.ok(got.choices[1].finish_reason == "stop" or got.choices[1].finish_reason == "length")
  return got.choices[1].finish_reason == "length" and "cut" or got.choices[1].message.content, headers["x-hocket-run"]
end

function doors.chat_stream(s, of, text)
  local parts = {}
  local status, list = s:stream("/v1/chat/completions", { model = of, stream = true, messages = { { role = "user", content = text } } })
  if status ~= 200 then return ("%d %s"):format(status, list.error.message) end
  t.equal(list[#list - 1].data.choices[1].finish_reason, "stop")
  for _, one in ipairs(list) do
    local choice = type(one.data) == "table" and one.data.choices and one.data.choices[1]
    parts[#parts + 1] = choice and choice.delta.content or nil
  end
  return table.concat(parts)
end

function doors.responses(s, of, text)
  local status, got = s:post("/v1/responses", { model = of, input = text })
  if status ~= 200 then return ("%d %s"):format(status, got.error.message) end
  t.equal(got.status, "completed")
  return got.output[#got.output].content[1].text
end

function doors.anthropic(s, of, text)
  local status, got, headers = s:post("/v1/messages", { model = of, max_tokens = 900, messages = { { role = "user", content = text } } })
  return status == 200 and got.content[#got.content].text or ("%d %s"):format(status, got.error.message), headers["x-hocket-run"]
end

function doors.agui(s, of, text)
  local parts = {}
  for _, one in ipairs(select(2, s:stream("/agui/" .. of, { threadId = "t" .. text, runId = "r", messages = { { id = "u", role = "user", content = text } } }))) do
    parts[#parts + 1] = one.data.type == "TEXT_MESSAGE_CONTENT" and one.data.delta or one.data.type == "RUN_ERROR" and one.data.message or nil
  end
  return table.concat(parts)
end

function doors.a2a(s, of, text)
  local _, got = s:post("/a2a/" .. of, { jsonrpc = "2.0", id = 1, method = "SendMessage", params = { message = { messageId = "m", role = "ROLE_USER", parts = { { text = text } } } } }, { ["a2a-version"] = "1.0" })
  local task = got.result.task
  local said = task.status.message and task.status.message.parts[1].text
  return task.status.state == "TASK_STATE_COMPLETED" and task.artifacts[1].parts[1].text or ("%s %s"):format(task.status.state, said)
end

function doors.api(s, of, text)
  local _, got = s:post("/api/runs", { target = of, input = text, options = { interactive = false } })
  local one
  t.eventually(function()
    one = select(2, s:get("/api/runs/" .. got.id))
    return one.state == "done" or one.state == "failed"
  end)
  return one.state == "done" and one.result.text or "failed " .. one.result.error.message, got.id
end

return doors

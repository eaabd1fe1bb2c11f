-- The server that the conformance suite's server scenarios talk with: what each of them wants to find, on the port in PORT.
local hocket = require "hocket"
local flow = require "hocket.flow"

local PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
local SOUND = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAAAAA=="

local function text(value) return { type = "text", text = value } end
local function parts(...) return { content = { ... } } end
local image = { type = "image", data = PIXEL, mimeType = "image/png" }

local tools = {}
local function tool(name, run, parameters)
  tools[#tools + 1] = { name = name, description = "For the scenario of that name", parameters = parameters, run = run }
end

tool("test_simple_text", function() return "This is a simple text response for testing." end)
tool("test_image_content", function() return parts(image) end)
tool("test_audio_content", function() return parts { type = "audio", data = SOUND, mimeType = "audio/wav" } end)
tool("test_embedded_resource", function()
  return parts { type = "resource", resource = { uri = "test://embedded-resource", mimeType = "text/plain", text = "This is an embedded resource content." } }
end)
tool("test_multiple_content_types", function()
  return parts(text "Multiple content types test:", image,
    { type = "resource", resource = { uri = "test://mixed-content-resource", mimeType = "application/json", text = '{"test":"data","value":123}' } })
end)
tool("test_tool_with_logging", function(_, at)
  at:log("info", "Tool execution started")
  flow.sleep(0.05)
  at:log("info", "Tool processing data")
  flow.sleep(0.05)
  at:log("info", "Tool execution completed")
  return "logged"
end)
tool("test_logging_tool", function(_, at)
  at:log("info", "a line")
  return "logged"
end)
tool("test_error_handling", function() return nil, "This tool intentionally returns an error for testing" end)
tool("test_tool_with_progress", function(_, at)
  for i = 0, 2 do
    at:progress(i * 50, 100)
    flow.sleep(0.05)
  end
  return "done"
end)
tool("test_sampling", function(args, at)
  local result, err = at:sample { messages = { { role = "user", content = text(args.prompt) } }, maxTokens = 100 }
  return result and "LLM response: " .. tostring(result.content.text), err
end, { type = "object", required = { "prompt" }, properties = { prompt = { type = "string" } } })

local function said(result, err)
  return result and ("Elicitation completed: action=%s, content=%s"):format(result.action, hocket.json.encode(result.content or {})), err
end

tool("test_elicitation", function(args, at)
  local result, err = at:elicit { message = args.message, requestedSchema = { type = "object", required = { "username", "email" },
    properties = { username = { type = "string", description = "User's response" }, email = { type = "string", description = "User's email address" } } } }
  return result and ("User response: action: %s, content: %s"):format(result.action, hocket.json.encode(result.content or {})), err
end, { type = "object", required = { "message" }, properties = { message = { type = "string" } } })
tool("test_elicitation_sep1034_defaults", function(_, at)
  return said(at:elicit { message = "Please review", requestedSchema = { type = "object", properties = {
    name = { type = "string", default = "John Doe" }, age = { type = "integer", default = 30 }, score = { type = "number", default = 95.5 },
    status = { type = "string", enum = { "active", "inactive", "pending" }, default = "active" }, verified = { type = "boolean", default = true } } } })
end)

local function titled(...)
  local list = {}
  for i, title in ipairs { ... } do list[i] = { const = "value" .. i, title = title } end
  return list
end

tool("test_elicitation_sep1330_enums", function(_, at)
  local plain = { "option1", "option2", "option3" }
  return said(at:elicit { message = "Please choose", requestedSchema = { type = "object", properties = {
    untitledSingle = { type = "string", enum = plain },
    titledSingle = { type = "string", oneOf = titled("First Option", "Second Option", "Third Option") },
    legacyEnum = { type = "string", enum = { "opt1", "opt2", "opt3" }, enumNames = { "Option One", "Option Two", "Option Three" } },
    untitledMulti = { type = "array", items = { type = "string", enum = plain } },
    titledMulti = { type = "array", items = { anyOf = titled("First Choice", "Second Choice", "Third Choice") } } } } })
end)

-- ---- 2026-07-28 ----------------------------------------------------------------------------

local function form(message, name, kind)
  return { message = message, requestedSchema = { type = "object", properties = { [name] = { type = kind or "string" } }, required = { name } } }
end
local function capital(at) return at:sample({ messages = { { role = "user", content = text "What is the capital of France?" } }, maxTokens = 100 }, "capital_question") end

tool("test_missing_capability", function(_, at) return capital(at) end)
tool("test_streaming_elicitation", function(_, at)
  at:progress(1, 2)
  return said(at:elicit(form("Who?", "name"), "user_name"))
end)
tool("test_input_required_result_elicitation", function(_, at) return said(at:elicit(form("What is your name?", "name"), "user_name")) end)
tool("test_input_required_result_sampling", function(_, at)
  local result, err = capital(at)
  return result and "It said: " .. tostring(result.content.text), err
end)
tool("test_input_required_result_list_roots", function(_, at)
  local roots, err = at:roots "client_roots"
  return roots and hocket.json.encode(hocket.json.array(roots)), err
end)
tool("test_input_required_result_request_state", function(_, at)
  local result, err = at:elicit(form("Please confirm", "ok", "boolean"), "confirm")
  return result and "state-ok", err
end)
tool("test_input_required_result_tampered_state", function(_, at)
  local result, err = at:elicit(form("Please confirm", "ok", "boolean"), "confirm")
  return result and "state-ok", err
end)
tool("test_input_required_result_multiple_inputs", function(_, at)
  local answers = flow.map({ function() return at:elicit(form("What is your name?", "name"), "user_name") end,
    function() return at:sample({ messages = { { role = "user", content = text "Generate a greeting" } }, maxTokens = 50 }, "greeting") end,
    function() return at:roots "client_roots" end }, function(fn) return fn() end)
  return "all: " .. hocket.json.encode(answers)
end)
tool("test_input_required_result_multi_round", function(_, at)
  local one, err = at:elicit(form("Step 1: What is your name?", "name"), "step1")
  if not one then return nil, err end
  local two
  two, err = at:elicit(form("Step 2: What is your favorite color?", "color"), "step2")
  return two and hocket.json.encode { one, two }, err
end)
tool("test_input_required_result_capabilities", function(_, at)
  if at:can "elicitation/create" then return said(at:elicit(form("What is your name?", "name"), "user_name")) end
  return capital(at)
end)
tool("test_trigger_tool_change", function(_, at)
  at:changed "tools"
  return "changed"
end)
tool("test_trigger_prompt_change", function(_, at)
  at:changed "prompts"
  return "changed"
end)
tool("json_schema_2020_12_tool", function() return "fine" end, hocket.json.decode [[{
  "$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
  "$defs": {"address": {"$anchor": "addressDef", "type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
  "properties": {"name": {"type": "string"}, "address": {"$ref": "#/$defs/address"}, "contactMethod": {"type": "string", "enum": ["phone", "email"]},
    "phone": {"type": "string"}, "email": {"type": "string"}},
  "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
  "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]}, "then": {"required": ["phone"]}, "else": {"required": ["email"]},
  "additionalProperties": false}]])
tool("test_custom_headers", function() return "fine" end, { type = "object", properties = {
  region = { type = "string", ["x-mcp-header"] = "Region" }, query = { type = "string" } } })

local function user(content) return { role = "user", content = content } end

-- ---- Tasks ------------------------------------------------------------------------------------

local function task_tool(name, task, run, parameters)
  tool(name, run, parameters)
  tools[#tools].task = task
end

tool("greet", function(args) return ("Hello, %s!"):format(args.name) end)
task_tool("slow_compute", 0, function(args)
  flow.sleep(args.seconds or 0)
  return "computed"
end)
task_tool("failing_job", "required", function()
  flow.sleep(0.2)
  return nil, "This job always fails"
end)
task_tool("protocol_error_job", 0, function()
  flow.sleep(0.05)
  return nil, { message = "it broke", rpc = { code = -32603, message = "it broke" } }
end)
local function confirm(at, what)
  local result, err = at:elicit { message = "Delete " .. what .. "?", requestedSchema = { type = "object", properties = { confirm = { type = "boolean" } } } }
  return result and result.action, err
end
task_tool("confirm_delete", 0, function(args, at)
  flow.sleep(0.05) -- before that it would be asked in place of a task
  return confirm(at, args.filename or "it")
end)
task_tool("multi_input", 0, function(_, at)
  flow.sleep(0.05)
  local both = flow.all { function() return confirm(at, "a") end, function() return confirm(at, "b") end }
  return table.concat(both, " ")
end)
task_tool("test_tool_with_task", "required", function(_, at)
  local result, err = at:elicit(form("What is your name?", "name"), "user_name")
  flow.sleep(0.05)
  return result and "Hello, " .. tostring(result.content and result.content.name), err
end)

assert(hocket.mcp.serve {
  name = "conformance", port = math.tointeger(tonumber(os.getenv "PORT")), token = false, tools = tools,
  resources = {
    { uri = "test://static-text", name = "text", description = "A text", mimeType = "text/plain", read = function() return "This is the content of the static text resource." end },
    { uri = "test://static-binary", name = "binary", description = "A picture", mimeType = "image/png", read = function() return { blob = PIXEL } end },
    { uri = "test://watched-resource", name = "watched", description = "Changes", mimeType = "text/plain", read = function() return "watched" end },
  },
  templates = { { uriTemplate = "test://template/{id}/data", name = "data", description = "Data by id", mimeType = "application/json",
    read = function(_, _, values) return ('{"id":"%s","templateTest":true,"data":"Data for ID: %s"}'):format(values.id, values.id) end } },
  prompts = {
    { name = "test_simple_prompt", description = "Simple", get = function() return "This is a simple prompt for testing." end },
    { name = "test_prompt_with_arguments", description = "With arguments", arguments = {
      { name = "arg1", description = "First", required = true, complete = function() return { "paris", "park", "party" } end }, { name = "arg2", description = "Second", required = true } },
      get = function(args) return ("Prompt with arguments: arg1='%s', arg2='%s'"):format(args.arg1, args.arg2) end },
    { name = "test_prompt_with_embedded_resource", description = "With a resource", arguments = { { name = "resourceUri", description = "Which", required = true } }, get = function(args)
      return { user { type = "resource", resource = { uri = args.resourceUri, mimeType = "text/plain", text = "Embedded resource content for testing." } },
        user(text "Please process the embedded resource above.") }
    end },
    { name = "test_prompt_with_image", description = "With a picture", get = function() return { user(image), user(text "Please analyze the image above.") } end },
    { name = "test_input_required_result_prompt", description = "Asks", get = function(_, at)
      local result, err = at:elicit(form("What context should the prompt use?", "context"), "user_context")
      return result and "With " .. tostring(result.content and result.content.context), err
    end },
  },
})

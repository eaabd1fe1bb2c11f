"""The official Python SDKs (PyPI openai, anthropic and a2a-sdk) against `hocket serve`. Called by endpoints_python.sh with the program and a folder."""
import asyncio
import os
import re
import subprocess
import sys

import anthropic
import httpx
import openai
from a2a import types as a2a_types
from a2a.client import A2ACardResolver, ClientConfig, ClientFactory

program, folder = sys.argv[1], sys.argv[2]
SIM = """
local json = require "hocket.json"
return function(q)
  if q.last.role == "tool" then return "It said: " .. q.last.text end
  local name, args = q.last.text:match "^call (%S+) (.*)$"
  if name then return { calls = { { name = name, arguments = json.decode(args) } } } end
  if q.last.text == "fail" then return { status = 400, error = "no such thing" } end
  if q.schema then return '{"stars": 4}' end
  return "You said: " .. q.last.text
end
"""
os.makedirs(folder + "/agents")
open(folder + "/agents/sim.lua", "w").write(SIM)
open(folder + "/agents/guide.md", "w").write("---\nname: guide\ndescription: Knows the way\n---\nYou are the guide.")
env = {**os.environ, "HOME": folder, "XDG_STATE_HOME": folder + "/state"}
env.pop("HOCKET_STORE", None)
server = subprocess.Popen([program, "serve", "--trust", "--no-token", "--model", "sim", "--listen", "127.0.0.1:0", folder + "/agents"], env=env, stderr=subprocess.PIPE, text=True)
try:
    base = re.search(r"http://\S+", server.stderr.readline()).group(0)
    client = openai.OpenAI(base_url=base + "/v1", api_key="x", max_retries=0)
    assert [one.id for one in client.models.list()] == ["guide"]
    say = [{"role": "user", "content": "Hello"}]
    reply = client.chat.completions.create(model="guide", messages=say)
    assert reply.choices[0].message.content == "You said: Hello" and reply.usage.total_tokens > 0, reply
    with client.chat.completions.stream(model="guide", messages=say, stream_options={"include_usage": True}) as stream:
        for _ in stream:
            pass
        last = stream.get_final_completion()
    assert last.choices[0].message.content == "You said: Hello" and last.usage.total_tokens > 0, last
    parameters = {"type": "object", "properties": {"city": {"type": "string"}}}
    tools = [{"type": "function", "function": {"name": "weather", "description": "w", "parameters": parameters}}]
    talk = [{"role": "user", "content": 'call weather {"city": "Rome"}'}]
    reply = client.chat.completions.create(model="guide", messages=talk, tools=tools)
    call = reply.choices[0].message.tool_calls[0]
    assert reply.choices[0].finish_reason == "tool_calls" and call.function.arguments == '{"city":"Rome"}', reply
    talk += [reply.choices[0].message.model_dump(exclude_none=True), {"role": "tool", "tool_call_id": call.id, "content": "Sunny"}]
    reply = client.chat.completions.create(model="guide", messages=talk, tools=tools)
    assert reply.choices[0].message.content == "It said: Sunny", reply
    rating = {"type": "json_schema", "json_schema": {"name": "rating", "schema": {"type": "object", "properties": {"stars": {"type": "integer"}}}}}
    assert client.chat.completions.create(model="guide", messages=say, response_format=rating).choices[0].message.content == '{"stars": 4}'
    for wrong, kind in ((dict(model="nobody", messages=say), openai.NotFoundError), (dict(model="guide", messages=[]), openai.BadRequestError)):
        try:
            client.chat.completions.create(**wrong)
            raise AssertionError(wrong)
        except kind:
            pass
    for stream in (False, True):
        try:
            list(client.chat.completions.create(model="guide", messages=[{"role": "user", "content": "fail"}], stream=stream) or [])
            raise AssertionError("a failed run was an answer")
        except openai.APIStatusError as error:
            assert "no such thing" in str(error), error

    first = client.responses.create(model="guide", input="Hello")
    assert first.output_text == "You said: Hello", first
    with client.responses.stream(model="guide", input="More", previous_response_id=first.id) as stream:
        for _ in stream:
            pass
        second = stream.get_final_response()
    assert second.output_text == "You said: More", second
    flat = [{"type": "function", "name": "weather", "description": "w", "parameters": parameters}]
    asked = client.responses.create(model="guide", input='call weather {"city": "Rome"}', previous_response_id=second.id, tools=flat)
    done = [{"type": "function_call_output", "call_id": asked.output[-1].call_id, "output": "Sunny"}]
    last = client.responses.create(model="guide", input=done, previous_response_id=asked.id, tools=flat)
    assert last.output_text == "It said: Sunny", last
    assert client.responses.retrieve(last.id).output_text == "It said: Sunny"
    client.responses.delete(last.id)

    other = anthropic.Anthropic(base_url=base, api_key="x", max_retries=0)
    assert [one.id for one in other.models.list()] == ["guide"]
    reply = other.messages.create(model="guide", max_tokens=100, system="Be brief.", messages=say)
    assert reply.content[0].text == "You said: Hello" and reply.stop_reason == "end_turn", reply
    own = [{"name": "weather", "description": "w", "input_schema": parameters}]
    talk = [{"role": "user", "content": 'call weather {"city": "Rome"}'}]
    with other.messages.stream(model="guide", max_tokens=100, messages=talk, tools=own) as stream:
        reply = stream.get_final_message()
    assert reply.stop_reason == "tool_use" and reply.content[-1].input == {"city": "Rome"}, reply
    talk += [{"role": "assistant", "content": [one.model_dump() for one in reply.content]},
             {"role": "user", "content": [{"type": "tool_result", "tool_use_id": reply.content[-1].id, "content": "Sunny"}]}]
    assert other.messages.create(model="guide", max_tokens=100, messages=talk, tools=own).content[0].text == "It said: Sunny"
    assert other.messages.count_tokens(model="guide", messages=talk).input_tokens > 0
    try:
        other.messages.create(model="nobody", max_tokens=1, messages=say)
        raise AssertionError("an agent that is not there has answered")
    except anthropic.NotFoundError:
        pass


    async def a2a():
        async with httpx.AsyncClient(timeout=30) as http:
            card = await A2ACardResolver(http, base).get_agent_card()
            for streaming, binding in ((False, "JSONRPC"), (True, "JSONRPC"), (False, "HTTP+JSON"), (True, "HTTP+JSON")):
                config = ClientConfig(httpx_client=http, streaming=streaming, supported_protocol_bindings=[binding])
                agent = ClientFactory(config).create(card)
                message = a2a_types.Message(message_id="m1", role=a2a_types.Role.ROLE_USER, parts=[a2a_types.Part(text="Hello")])
                told = [one async for one in agent.send_message(a2a_types.SendMessageRequest(message=message))]
                assert "You said: Hello" in "".join(str(one) for one in told), told
                last = told[-1].status_update.status if streaming else told[-1].task.status
                assert last.state == a2a_types.TaskState.TASK_STATE_COMPLETED, told

    asyncio.run(a2a())
    subprocess.run([sys.executable, os.path.join(os.path.dirname(__file__), "endpoints_frameworks.py"), base], check=True, timeout=300)
finally:
    server.terminate()
    server.wait(60)

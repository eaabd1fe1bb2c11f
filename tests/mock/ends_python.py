"""What the official Python clients (PyPI openai, anthropic, a2a-sdk, mcp, agent-client-protocol) see of a run's end. Called by ends.lua: each line of
its input is JSON, {client, base, agent, input, tools}, and is answered with one, {got}; {cancel} is what a person does meanwhile."""
import asyncio
import json
import os
import sys

import acp
import anthropic
import httpx
import openai
from a2a import types as a2a_types
from a2a.client import ClientConfig, ClientFactory
from mcp import Client

TOKEN = "secret"


def failed(error):
    """An error's status, and what its headers say about another try."""
    headers = error.response.headers
    return f"{error.status_code} retry={headers.get('x-should-retry')}{' after' if 'retry-after' in headers else ''}"


def openai_client(at):
    return openai.AsyncOpenAI(base_url=at["base"] + "/v1", api_key=TOKEN, max_retries=0)


def anthropic_client(at):
    return anthropic.AsyncAnthropic(base_url=at["base"], api_key=TOKEN, max_retries=0)


def with_tools(at, **more):
    return {**more, **({"tools": at["tools"]} if at.get("tools") else {})}


def said(at):
    return [{"role": "user", "content": at["input"]}]


async def chat(at):
    try:
        reply = await openai_client(at).chat.completions.create(**with_tools(at, model=at["agent"], messages=said(at)))
    except openai.APIStatusError as error:
        return failed(error)
    return reply.choices[0].finish_reason


async def chat_stream(at):
    reason = None
    try:
        async for chunk in await openai_client(at).chat.completions.create(**with_tools(at, model=at["agent"], messages=said(at), stream=True)):
            reason = chunk.choices and chunk.choices[0].finish_reason or reason
    except openai.APIError:
        return "error"
    return reason


async def responses(at):
    try:
        reply = await openai_client(at).responses.create(**with_tools(at, model=at["agent"], input=at["input"]))
    except openai.APIStatusError as error:
        return failed(error)
    return f"{reply.status} {reply.incomplete_details.reason if reply.incomplete_details else '-'}"


async def responses_stream(at):
    last = None
    try:
        async for event in await openai_client(at).responses.create(**with_tools(at, model=at["agent"], input=at["input"], stream=True)):
            last = event.type
    except openai.APIError:
        return "error"
    return last.removeprefix("response.")


async def messages(at):
    try:
        reply = await anthropic_client(at).messages.create(**with_tools(at, model=at["agent"], max_tokens=900, messages=said(at)))
    except anthropic.APIStatusError as error:
        return failed(error)
    return reply.stop_reason


async def messages_stream(at):
    try:
        async with anthropic_client(at).messages.stream(**with_tools(at, model=at["agent"], max_tokens=900, messages=said(at))) as stream:
            return (await stream.get_final_message()).stop_reason
    except anthropic.APIError:
        return "error"


async def a2a(at, streaming):
    card = a2a_types.AgentCard(name=at["agent"], supported_interfaces=[a2a_types.AgentInterface(
        url=at["base"] + "/a2a/" + at["agent"], protocol_binding="JSONRPC", protocol_version="1.0")])
    card.capabilities.streaming = streaming
    async with httpx.AsyncClient(timeout=60, headers={"authorization": "Bearer " + TOKEN}) as http:
        client = ClientFactory(ClientConfig(httpx_client=http, streaming=streaming, supported_protocol_bindings=["JSONRPC"])).create(card)
        message = a2a_types.Message(message_id="m1", role=a2a_types.Role.ROLE_USER, parts=[a2a_types.Part(text=at["input"])])
        told = [one async for one in client.send_message(a2a_types.SendMessageRequest(message=message))]
        last = told[-1].status_update if streaming else told[-1].task
        state = a2a_types.TaskState.Name(last.status.state).removeprefix("TASK_STATE_")
        return f"{state} {last.metadata['hocket']['ending'] if 'hocket' in last.metadata else '-'}"


async def mcp(at):
    async with httpx.AsyncClient(timeout=60, headers={"authorization": "Bearer " + TOKEN}) as http:
        from mcp.client.streamable_http import streamable_http_client
        async with Client(streamable_http_client(at["base"] + "/mcp", http_client=http)) as client:
            result = await client.call_tool(at["agent"], {"input": at["input"]})
            return "true" if result.is_error else "false"


class Editor(acp.Client):
    async def session_update(self, session_id, update, **_):
        pass


talk = None


async def editor(at):
    global talk
    async with acp.spawn_agent_process(Editor(), *at["command"], env={**os.environ, **at["env"]}, cwd=at["cwd"]) as (agent, _):
        await agent.initialize(protocol_version=1)
        session = (await agent.new_session(cwd=at["cwd"], mcp_servers=[])).session_id
        talk = agent, session
        try:
            return (await agent.prompt(session_id=session, prompt=[acp.text_block(at["input"])])).stop_reason
        except acp.RequestError:
            return "error"


CLIENTS = {
    "chat": chat, "chat_stream": chat_stream, "responses": responses, "responses_stream": responses_stream, "anthropic": messages,
    "anthropic_stream": messages_stream, "a2a": lambda at: a2a(at, False), "a2a_stream": lambda at: a2a(at, True), "mcp": mcp, "acp": editor,
}


async def answer(at):
    try:
        got = await CLIENTS[at["client"]](at)
    except Exception as error:  # the table shows it as what it is: nothing that a client should meet
        got = f"raised {type(error).__name__}: {error}"
    print(json.dumps({"got": got}), flush=True)


async def main():
    running, loop = set(), asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        at = json.loads(line)
        if "cancel" in at:
            await talk[0].cancel(session_id=talk[1])
        else:
            running.add(asyncio.create_task(answer(at)))


asyncio.run(main())

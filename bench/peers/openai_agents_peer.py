"""A router, three advisors, a team of five with the OpenAI Agents SDK, as somebody who uses it would write them:

    openai_agents_peer.py router|three|five ROUNDS

OPENAI_BASE_URL says where the mock server is. The same prompts and the same number of model calls as
bench/scripts/patterns.lua; answers are streamed, as they are there."""
import asyncio
import importlib.metadata
import sys

from agents import Agent, OpenAIChatCompletionsModel, Runner, function_tool, set_tracing_disabled
from openai import AsyncOpenAI

PROMPT = "You are a careful worker who wastes no words. " * 10
REQUEST = "Is it worth while to go through all the steps again? Say why, and what it would cost."


@function_tool
def route_to(agent: str, reason: str) -> str:
    """Choose the agent that handles the request."""
    return agent


def agent(client, name, model="tools-0", **more):
    return Agent(name=name, instructions=PROMPT, model=OpenAIChatCompletionsModel(model=model, openai_client=client), **more)


async def ask(one, text):
    result = Runner.run_streamed(one, text)
    async for _ in result.stream_events():
        pass
    return result.final_output


def router(client):
    targets = {name: agent(client, name) for name in ("a1", "a2", "a3")}
    chief = agent(client, "chief", "route-2", tools=[route_to], tool_use_behavior="stop_on_first_tool")

    async def run():
        return await ask(targets[await ask(chief, REQUEST)], REQUEST)

    return run


def three(client):
    chief, advisors = agent(client, "chief"), [agent(client, f"a{i}") for i in range(1, 4)]

    async def run():
        advice = await asyncio.gather(*(ask(one, REQUEST) for one in advisors))
        return await ask(chief, "\n\n".join([REQUEST, *advice]))

    return run


def five(client):
    chief, members = agent(client, "chief"), [agent(client, f"a{i}") for i in range(1, 6)]

    async def run():
        said = [REQUEST]
        for _ in range(2):
            said += await asyncio.gather(*(ask(one, "\n\n".join(said)) for one in members))
        return await ask(chief, "\n\n".join(said))

    return run


async def main(kind, rounds):
    set_tracing_disabled(True)
    run = {"router": router, "three": three, "five": five}[kind](AsyncOpenAI(api_key="none"))
    for _ in range(rounds):
        await run()


if sys.argv[1] == "version":
    print(importlib.metadata.version("openai-agents"))
else:
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))

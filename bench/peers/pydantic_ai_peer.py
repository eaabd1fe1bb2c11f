"""A router, three advisors, a team of five with pydantic-ai, as somebody who uses it would write them:

    pydantic_ai_peer.py router|three|five ROUNDS

OPENAI_BASE_URL says where the mock server is. The same prompts and the same number of model calls as
bench/scripts/patterns.lua; answers are streamed, as they are there."""
import asyncio
import sys

import pydantic_ai
from pydantic import BaseModel
from pydantic_ai import Agent, ToolOutput
from pydantic_ai.models.openai import OpenAIChatModel

PROMPT = "You are a careful worker who wastes no words. " * 10
REQUEST = "Is it worth while to go through all the steps again? Say why, and what it would cost."


class Route(BaseModel):
    agent: str
    reason: str


def agent(name, model="tools-0", **more):
    return Agent(OpenAIChatModel(model), name=name, instructions=PROMPT, **more)


async def ask(one, text):
    async with one.run_stream(text) as answer:
        return await answer.get_output()


def router():
    targets = {name: agent(name) for name in ("a1", "a2", "a3")}
    chief = agent("chief", "route-2", output_type=ToolOutput(Route, name="route_to"))

    async def run():
        choice = await ask(chief, REQUEST)
        return await ask(targets[choice.agent], REQUEST)

    return run


def three():
    chief, advisors = agent("chief"), [agent(f"a{i}") for i in range(1, 4)]

    async def run():
        advice = await asyncio.gather(*(ask(one, REQUEST) for one in advisors))
        return await ask(chief, "\n\n".join([REQUEST, *advice]))

    return run


def five():
    chief, members = agent("chief"), [agent(f"a{i}") for i in range(1, 6)]

    async def run():
        said = [REQUEST]
        for _ in range(2):
            said += await asyncio.gather(*(ask(one, "\n\n".join(said)) for one in members))
        return await ask(chief, "\n\n".join(said))

    return run


async def main(kind, rounds):
    run = {"router": router, "three": three, "five": five}[kind]()
    for _ in range(rounds):
        await run()


if sys.argv[1] == "version":
    print(pydantic_ai.__version__)
else:
    asyncio.run(main(sys.argv[1], int(sys.argv[2])))

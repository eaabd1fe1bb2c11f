"""The same requests with Pydantic AI (PyPI's pydantic-ai-slim, MIT) on the same server: beside.py BASE_URL MODEL TRIALS [WORDS of a row].

Its own way of a typed answer is a call of a tool ("tool"); "native" is the server's schema of the answer.
"""
import asyncio
import json
import os
import sys
from typing import Literal

from pydantic import BaseModel, Field
from pydantic_ai import Agent, NativeOutput, UnexpectedModelBehavior
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings

RESULTS = "build/models.jsonl"
given = json.load(open("bench/models/requests.json", encoding="utf-8"))
base, name, trials, only = sys.argv[1], sys.argv[2], int(sys.argv[3]), "".join(sys.argv[4:5])
server = OpenAIChatModel(name, provider=OpenAIProvider(base_url=base, api_key="none"))


class Route(BaseModel):
    reason: str
    agent: Literal["billing", "legal", "technical"]


class Task(BaseModel):
    id: str
    specialist: Literal["file", "web"]
    description: str
    depends_on: list[str] = []


class Plan(BaseModel):
    type: Literal["conversation", "task"]
    response: str | None = None
    tasks: list[Task] = []


class Verdict(BaseModel):
    reason: str
    passes: bool = Field(alias="pass")
    score: float


DESK = given["desk"]["prompt"] + " They are:\n" + "\n".join(f"- {one}: {what}" for one, what in given["desk"]["agents"])
PLANNER = """You plan for two specialists, and do nothing yourself:
- file: Finds, reads, writes and moves files
- web: Searches the web
Talk is answered at once (type conversation, with a response). Work is broken down into tasks (type task), as few as will do."""
JUDGE = "You judge answers of others by a rubric. First the reason, then whether it passes, then a score from 0 to 1."


def judged_route(value, asked):
    return "right" if value.agent == asked[1] else "valid"


def judged_plan(value, asked):
    if value.type == "task" and not value.tasks:
        return "wrong"
    fits = value.type == asked[1] and all(asked[2] in (None, one.specialist) for one in value.tasks)
    return "right" if fits else "valid"


def judged_verdict(value, asked):
    return "right" if value.passes == asked[2] else "valid"


ROWS = {
    "router": (Route, DESK, given["desk"]["requests"], lambda asked: asked[0], judged_route, 0.7, 400),
    "planner": (Plan, PLANNER, given["planner"], lambda asked: asked[0], judged_plan, 0, 1000),
    "judge": (Verdict, JUDGE, given["judge"], lambda asked: f"Rubric: {asked[0]}\nAnswer: {asked[1]}", judged_verdict, 0, 400),
}


async def trial(row, how, number):
    form, prompt, requests, said, judged, temperature, most = ROWS[row]
    asked = requests[(number - 1) % len(requests)]
    settings = ModelSettings(temperature=temperature, max_tokens=most, seed=number, timeout=600)
    agent = Agent(server, instructions=prompt, output_type=NativeOutput(form) if how == "native" else form, model_settings=settings)
    try:
        value = (await agent.run(said(asked))).output
    except UnexpectedModelBehavior as wrong:
        return "wrong", str(wrong)
    return judged(value, asked), value.model_dump_json(by_alias=True)


def key(one):
    return one["row"], one["trial"], one["model"], one["with"]


def made():
    if not os.path.exists(RESULTS):
        return {}
    return {key(one): one for one in map(json.loads, open(RESULTS, encoding="utf-8"))}


async def main():
    known = made()
    for row in ROWS:
        for how in "tool", "native":
            if only not in f"{row} {how}":
                continue
            count = {"right": 0, "valid": 0, "wrong": 0}
            for number in range(1, trials + 1):
                one = {"row": row, "trial": number, "model": name, "with": "pydantic-ai " + how}
                if key(one) in known:
                    one = known[key(one)]
                else:
                    one["outcome"], one["note"] = await trial(row, how, number)
                    with open(RESULTS, "a", encoding="utf-8") as file:
                        file.write(json.dumps(one) + "\n")
                count[one["outcome"]] += 1
            print(f"| {row}, Pydantic AI by {how} | {trials} | {count['right']} | {count['right'] + count['valid']} |", flush=True)


asyncio.run(main())

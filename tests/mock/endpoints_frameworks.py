"""Frameworks as callers (PyPI langchain-openai, langchain-anthropic and pydantic-ai-slim) against `hocket serve`. Called by endpoints_python.sh with its address."""
import asyncio
import sys

base = sys.argv[1]


def langchain():
    from langchain_anthropic import ChatAnthropic
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    @tool
    def weather(city: str) -> str:
        """Says the weather."""
        return "Sunny in " + city

    for model in (
        ChatOpenAI(base_url=base + "/v1", api_key="x", model="guide", max_retries=0),
        ChatOpenAI(base_url=base + "/v1", api_key="x", model="guide", max_retries=0, use_responses_api=True),
        ChatAnthropic(base_url=base, api_key="x", model="guide", max_retries=0),
    ):
        reply = model.invoke("Hello")
        assert reply.text == "You said: Hello", reply
        assert reply.usage_metadata["total_tokens"] > 0, reply
        assert "".join(one.text for one in model.stream("Hello")) == "You said: Hello"
        talk = [HumanMessage('call weather {"city": "Rome"}')]
        asked = model.bind_tools([weather]).invoke(talk)
        call = asked.tool_calls[0]
        assert call["name"] == "weather" and call["args"] == {"city": "Rome"}, asked
        talk += [asked, ToolMessage(weather.invoke(call["args"]), tool_call_id=call["id"])]
        assert model.bind_tools([weather]).invoke(talk).text == "It said: Sunny in Rome"


def pydantic():
    from pydantic import BaseModel
    from pydantic_ai import Agent
    from pydantic_ai.models.anthropic import AnthropicModel
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
    from pydantic_ai.providers.anthropic import AnthropicProvider
    from pydantic_ai.providers.openai import OpenAIProvider

    class Rating(BaseModel):
        stars: int

    openai = OpenAIProvider(base_url=base + "/v1", api_key="x")
    for model in (
        OpenAIChatModel("guide", provider=openai),
        OpenAIResponsesModel("guide", provider=openai),
        AnthropicModel("guide", provider=AnthropicProvider(base_url=base, api_key="x")),
    ):
        agent = Agent(model, system_prompt="Be brief.")

        @agent.tool_plain
        def weather(city: str) -> str:
            return "Sunny in " + city

        assert agent.run_sync("Hello").output == "You said: Hello"
        assert agent.run_sync('call weather {"city": "Rome"}').output == "It said: Sunny in Rome"

        async def stream():
            async with agent.run_stream("Hello") as result:
                assert await result.get_output() == "You said: Hello"

        asyncio.run(stream())
        # its way to a typed answer: a tool that has to be called (tool_choice "required")
        assert Agent(model, output_type=Rating).run_sync('call final_result {"stars": 4}').output == Rating(stars=4)


for package, check in (("langchain_openai", langchain), ("pydantic_ai", pydantic)):
    try:
        __import__(package)
    except ImportError:
        print("passed over: there is no", package)
        continue
    check()

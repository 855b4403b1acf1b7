"""The OpenAI Agents SDK: `agents_client.py ADDRESS KEY MODEL …` prints what it got as JSON.

Its runner calls a function of Python, with the model forced to call it once.
"""

import asyncio
import json
import sys
from typing import Any

from agents import (
    Agent,
    Model,
    ModelSettings,
    OpenAIChatCompletionsModel,
    OpenAIResponsesModel,
    Runner,
    function_tool,
    set_tracing_disabled,
)
from openai import AsyncOpenAI

ADDRESS, KEY, MODEL = sys.argv[1:4]
ASKED = "What is the capital of France?"


async def run(model: Model) -> Any:
    cities: list[str] = []

    @function_tool
    def weather(city: str) -> str:
        """Tells the weather of a city."""
        cities.append(city)
        return "Sunny, 20 degrees."

    short = ModelSettings(temperature=0, max_tokens=60)
    plain = Agent(name="plain", instructions="Be brief.", model=model, model_settings=short)
    forced = ModelSettings(tool_choice="weather", parallel_tool_calls=False, temperature=0, max_tokens=60)
    caller = Agent(name="caller", instructions="Be brief.", model=model, model_settings=forced, tools=[weather])
    said = await Runner.run(plain, ASKED)
    streamed = Runner.run_streamed(plain, ASKED)
    pieces = [
        event.data.delta
        async for event in streamed.stream_events()
        if event.type == "raw_response_event" and event.data.type == "response.output_text.delta"
    ]
    round_trip = await Runner.run(caller, ASKED)
    streamed_trip = Runner.run_streamed(caller, ASKED)
    kinds = [event.item.type async for event in streamed_trip.stream_events() if event.type == "run_item_stream_event"]
    return {
        "text": said.final_output,
        "counted": [said.raw_responses[0].usage.input_tokens, said.raw_responses[0].usage.output_tokens],
        "streamed": ["".join(pieces) == streamed.final_output, len(pieces)],
        "items": [item.type for item in round_trip.new_items],
        "streamedItems": kinds,
        "cities": cities,
        "output": [round_trip.final_output, streamed_trip.final_output],
    }


async def main() -> None:
    set_tracing_disabled(True)
    async with AsyncOpenAI(base_url=f"{ADDRESS}/v1", api_key=KEY, max_retries=0) as client:
        chat = await run(OpenAIChatCompletionsModel(model=MODEL, openai_client=client))
        responses = await run(OpenAIResponsesModel(model=MODEL, openai_client=client))
    print(json.dumps({"chat": chat, "responses": responses}))


asyncio.run(main())

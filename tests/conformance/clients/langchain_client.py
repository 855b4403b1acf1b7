"""LangChain's two chat models: `langchain_client.py ADDRESS KEY MODEL EMBEDDING_MODEL` prints what they got as JSON."""

import json
import sys
from typing import Any

from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessageChunk, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI, OpenAIEmbeddings
from pydantic import BaseModel, Field

ADDRESS, KEY, MODEL, EMBEDDING_MODEL = sys.argv[1:]
ASKED = HumanMessage("What is the weather in Paris?")


class Person(BaseModel):
    """A person."""

    name: str = Field(max_length=20)
    age: int = Field(ge=0, le=130)


@tool
def weather(city: str) -> str:
    """Tells the weather of a city."""
    return f"Sunny in {city}."


def run(model: BaseChatModel) -> Any:
    said = model.invoke([ASKED])
    pieces = list(model.stream([ASKED]))
    streamed = AIMessageChunk("")
    for piece in pieces:
        streamed += piece
    return {
        "text": said.text,
        "counted": said.usage_metadata,
        "streamed": [streamed.text, len([piece for piece in pieces if piece.text])],
        "streamedCounted": streamed.usage_metadata,
        "toolRound": tool_round(model),
        "person": model.with_structured_output(Person).invoke("Ann is 40.").model_dump(),
    }


def tool_round(model: BaseChatModel) -> Any:
    caller = model.bind_tools([weather], tool_choice="weather")
    called = caller.invoke([ASKED])
    (call,) = called.tool_calls
    result = weather.invoke(call)
    assert isinstance(result, ToolMessage)
    after = model.bind_tools([weather]).invoke([ASKED, called, result])
    merged = AIMessageChunk("")
    for piece in caller.stream([ASKED]):
        merged += piece
    return {
        "call": [call["name"], sorted(call["args"])],
        "result": result.content,
        "after": bool(after.text or after.tool_calls),
        "streamed": [[each["name"], sorted(each["args"])] for each in merged.tool_calls],
    }


def main() -> None:
    openai: dict[str, Any] = {"model": MODEL, "base_url": f"{ADDRESS}/v1", "api_key": KEY, "temperature": 0}
    found = {
        "openai": run(ChatOpenAI(**openai, max_tokens=60, max_retries=0, stream_usage=True)),
        "responses": run(ChatOpenAI(**openai, max_tokens=60, max_retries=0, use_responses_api=True)),
        "anthropic": run(
            ChatAnthropic(model=MODEL, base_url=ADDRESS, api_key=KEY, temperature=0, max_tokens=60, max_retries=0)
        ),
        "embedded": [
            len(each)
            for each in OpenAIEmbeddings(
                model=EMBEDDING_MODEL, base_url=f"{ADDRESS}/v1", api_key=KEY, check_embedding_ctx_length=False
            ).embed_documents(["a river", "a stream"])
        ],
    }
    print(json.dumps(found))


main()

"""LiteLLM as a client: `litellm_client.py ADDRESS KEY MODEL EMBEDDING_MODEL` prints what it got as JSON."""

import json
import os
import sys
from typing import Any

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks for prices elsewhere

import litellm

ADDRESS, KEY, MODEL, EMBEDDING_MODEL = sys.argv[1:]
FAMILIES = {
    "openai": {"model": f"openai/{MODEL}", "api_base": f"{ADDRESS}/v1", "api_key": KEY},
    "anthropic": {"model": f"anthropic/{MODEL}", "api_base": ADDRESS, "api_key": KEY},
}
ASKED = [{"role": "user", "content": "What is the capital of France?"}]
CITY = {"type": "object", "properties": {"city": {"type": "string", "maxLength": 20}}, "required": ["city"]}
WEATHER = {"type": "function", "function": {"name": "weather", "description": "Tells it.", "parameters": CITY}}


def whole(family: dict[str, str]) -> Any:
    answer = litellm.completion(messages=ASKED, temperature=0, max_tokens=24, **family)
    usage = answer.usage
    return {
        "text": answer.choices[0].message.content,
        "finish": answer.choices[0].finish_reason,
        "counted": [usage.prompt_tokens, usage.completion_tokens, usage.total_tokens],
    }


def streamed(family: dict[str, str]) -> Any:
    options = {"include_usage": True}
    chunks = list(
        litellm.completion(messages=ASKED, temperature=0, max_tokens=24, stream=True, stream_options=options, **family)
    )
    built = litellm.stream_chunk_builder(chunks, messages=ASKED)
    pieces = [chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices]
    return {
        "text": "".join(pieces),
        "numPieces": sum(map(bool, pieces)),
        "finish": built.choices[0].finish_reason,
        "counted": [built.usage.prompt_tokens, built.usage.completion_tokens, built.usage.total_tokens],
    }


def tool_round(family: dict[str, str], is_stream: bool) -> Any:
    choice = {"type": "function", "function": {"name": "weather"}}
    asked: dict[str, Any] = {"messages": ASKED, "tools": [WEATHER], "tool_choice": choice, "max_tokens": 60}
    answer = litellm.completion(stream=is_stream, **asked, **family)
    if is_stream:
        answer = litellm.stream_chunk_builder(list(answer), messages=ASKED)
    message = answer.choices[0].message
    (call,) = message.tool_calls
    result = {"role": "tool", "tool_call_id": call.id, "name": "weather", "content": "Sunny, 20 degrees."}
    after = litellm.completion(messages=[*ASKED, message, result], tools=[WEATHER], max_tokens=24, **family)
    return {
        "finish": answer.choices[0].finish_reason,
        "name": call.function.name,
        "arguments": json.loads(call.function.arguments),
        "after": [after.choices[0].finish_reason, bool(after.choices[0].message.content)],
    }


def refused(family: dict[str, str]) -> Any:
    """The class of LiteLLM's own to which it turns each refusal."""
    found = {}
    for name, fields in {
        "unknown model": {"model": f"{family['model'].partition('/')[0]}/nope"},
        "wrong key": {"api_key": "sk-wrong"},
        "no such role": {"messages": [{"role": "robot", "content": "Hi"}]},
    }.items():
        try:
            litellm.completion(**({"messages": ASKED, "max_tokens": 4, "num_retries": 0} | family | fields))
        except Exception as error:
            found[name] = type(error).__name__
    return found


def embedded() -> Any:
    family = FAMILIES["openai"] | {"model": f"openai/{EMBEDDING_MODEL}"}
    answer = litellm.embedding(input=["a river", "a stream"], **family)
    return {"sizes": [len(each["embedding"]) for each in answer.data], "tokens": answer.usage.prompt_tokens}


def main() -> None:
    litellm.suppress_debug_info = True
    found: dict[str, Any] = {"embedded": embedded()}
    for name, family in FAMILIES.items():
        found[name] = {
            "whole": whole(family),
            "streamed": streamed(family),
            "toolRound": tool_round(family, is_stream=False),
            "streamedToolRound": tool_round(family, is_stream=True),
            "refused": refused(family),
        }
    print(json.dumps(found))


main()

"""Recorded streams of each API, as text."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any


def sse(values: Sequence[dict[str, Any]], done: bool = False) -> str:
    events = [f"event: {each['type']}\n" if "type" in each else "" for each in values]
    text = "".join(f"{event}data: {json.dumps(each)}\n\n" for event, each in zip(events, values, strict=True))
    return text + "data: [DONE]\n\n" * done


def chunk(delta: dict[str, Any], reason: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return {"object": "chat.completion.chunk", "model": "gpt-x", "choices": [choice], **more}


CHAT = [
    chunk({"role": "assistant", "content": "It is "}),
    chunk({"content": "sunny."}),
    chunk({"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "clock", "arguments": '{"zo'}}]}),
    chunk({"tool_calls": [{"index": 0, "function": {"arguments": 'ne": "UTC"}'}}]}),
    chunk({}, "tool_calls"),
    {
        "object": "chat.completion.chunk",
        "model": "gpt-x",
        "choices": [],
        "usage": {
            "prompt_tokens": 40,
            "completion_tokens": 9,
            "prompt_tokens_details": {"cached_tokens": 32},
        },
    },
]
MESSAGE = [
    {
        "type": "message_start",
        "message": {
            "model": "claude-x",
            "usage": {
                "input_tokens": 8,
                "cache_read_input_tokens": 16,
                "cache_creation_input_tokens": 48,
                "cache_creation": {"ephemeral_5m_input_tokens": 32, "ephemeral_1h_input_tokens": 16},
                "output_tokens": 1,
            },
        },
    },
    {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "hm"}},
    {"type": "content_block_start", "index": 1, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 1, "delta": {"type": "text_delta", "text": "It is sunny."}},
    {
        "type": "content_block_start",
        "index": 2,
        "content_block": {"type": "tool_use", "id": "toolu_1", "name": "clock"},
    },
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '{"zone": '}},
    {"type": "content_block_delta", "index": 2, "delta": {"type": "input_json_delta", "partial_json": '"UTC"}'}},
    {"type": "content_block_stop", "index": 2},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
]
RESPONSE = {
    "object": "response",
    "model": "gpt-x",
    "status": "completed",
    "output": [
        {"type": "reasoning"},
        {"type": "message", "content": [{"type": "output_text", "text": "It is sunny."}]},
        {"type": "function_call", "call_id": "call_1", "name": "clock", "arguments": '{"zone": "UTC"}'},
    ],
    "usage": {"input_tokens": 40, "output_tokens": 9, "input_tokens_details": {"cached_tokens": 32}},
}
RESPONSES = [
    {"type": "response.created", "response": {"model": "gpt-x"}},
    {"type": "response.output_text.delta", "output_index": 1, "delta": "It is "},
    {"type": "response.output_text.delta", "output_index": 1, "delta": "sunny."},
    {
        "type": "response.output_item.added",
        "output_index": 2,
        "item": {"type": "function_call", "name": "clock", "call_id": "call_1"},
    },
    {"type": "response.function_call_arguments.delta", "output_index": 2, "delta": '{"zone": "UTC"}'},
    {"type": "response.completed", "response": RESPONSE},
]

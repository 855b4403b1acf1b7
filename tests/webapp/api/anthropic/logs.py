"""Logs of answers: the recorded ones, and made ones with what no recorded one has."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec

from inference.protocol.codec import decode_frame
from inference.protocol.events import (
    AnyEvent,
    CacheLookedUp,
    ContextAssembled,
    GenerationFinished,
    GenerationQueued,
    PromptTokenized,
    RequestAccepted,
    RequestFailed,
    RequestFinished,
    TextReleased,
    TextWithheld,
)
from inference.protocol.request import FinishReason, SamplingParams, Usage
from inference.protocol.tool_calls import Tool, ToolCalls, written

GOLDEN = Path(__file__).parents[3] / "golden" / "logs"
NUM_PROMPT, NUM_CACHED = 40, 32
TOOLS = ToolCalls(tools=(Tool(name="weather"), Tool(name="clock")))


def golden(name: str) -> list[AnyEvent]:
    """A recorded log."""
    frames = json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))["frames"]
    return [event for each in frames for event in decode_frame(msgspec.json.encode(each)).events]


def begun(params: SamplingParams | None = None, window: int = 8192, has_cache: bool = True) -> list[AnyEvent]:
    """The events before the first text."""
    return [
        RequestAccepted(
            at=0,
            request_id="req_a",
            surface="anthropic",
            model="m",
            params=params or SamplingParams(),
            accepted_unix_us=0,
        ),
        ContextAssembled(
            at=1, window=window, reserved_output=4, num_prompt_tokens=NUM_PROMPT, segments=(), dropped=(), duration_us=0
        ),
        PromptTokenized(
            at=2, tokenizer="t", version="1", ids=tuple(range(NUM_PROMPT)), pieces=(), special=(), duration_us=0
        ),
        GenerationQueued(at=3, attempt=1, queue_depth=0),
        *([CacheLookedUp(at=4, block_size=16, hits=(True, True), num_cached_tokens=NUM_CACHED)] if has_cache else []),
    ]


def released(*texts: str) -> list[AnyEvent]:
    return [TextReleased(at=5, text=text, num_tokens=number + 1) for number, text in enumerate(texts)]


def ended(reason: FinishReason = "stop", num_output: int = 7, is_cache_known: bool = True) -> list[AnyEvent]:
    read = NUM_CACHED if is_cache_known else 0
    usage = Usage(uncached_input=NUM_PROMPT - read, cache_read=read, output=num_output)
    finished = GenerationFinished(
        at=6, finish_reason=reason, usage=usage, prefill_us=1, decode_us=1, is_cache_known=is_cache_known
    )
    return [finished, RequestFinished(at=7, finish_reason=reason, usage=usage)]


def with_calls(*calls: tuple[str, str], text: str = "", reason: FinishReason = "stop") -> list[AnyEvent]:
    """An answer with a text and calls, each a name with its arguments."""
    params = SamplingParams(tool_calls=TOOLS)
    whole = text + "".join(written(name, arguments) for name, arguments in calls)
    return [*begun(params), *released(whole), *ended(reason)]


def withheld(text: str, told: str) -> list[AnyEvent]:
    stopped = TextWithheld(at=6, num_tokens=3, category="violence", replacement=told)
    return [*begun(), *released(text), stopped, *ended("content_filter")]


def failed(code: str, before: list[AnyEvent]) -> list[AnyEvent]:
    return [*before, RequestFailed(at=9, stage="generation", code=code, message="It failed.")]  # type: ignore[arg-type]

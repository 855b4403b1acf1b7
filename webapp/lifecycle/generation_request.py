"""Builds the message to an inference worker from a request's row and log: the same for each attempt."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    GenerationForked,
    GenerationInterrupted,
    GenerationResumed,
    GenerationStarted,
    PromptTokenized,
    first,
)
from inference.protocol.generations import last_number, latest
from inference.protocol.request import CacheMark, GenerationRequest, SamplingParams
from webapp.lifecycle.packing import most_output
from webapp.requests.input import is_stepped
from webapp.requests.models import Request
from webapp.safety.in_force import saved_policy

BATCH_PRIORITY = -1
"""The engine reads the prompts of all other requests first, and takes blocks from a batch first."""
_BEGUN = (GenerationStarted, GenerationResumed, GenerationInterrupted)
"""Events after which the log may have tokens of the answer."""


def generation_request(request: Request, events: Sequence[AnyEvent]) -> GenerationRequest:
    """Return the request's last generation. events: its log, which has that generation's prompt."""
    generation, events = last_number(events), latest(events)
    context, prompt = first(events, ContextAssembled), first(events, PromptTokenized)
    assert context is not None and prompt is not None
    forked = first(events, GenerationForked)
    params = msgspec.convert(request.params, SamplingParams)
    most = most_output(context.window, len(prompt.ids), params)
    return GenerationRequest(
        request_id=request.pk,
        attempt=request.attempt,
        generation=generation,
        policy=saved_policy(),
        model=request.model,
        prompt_ids=prompt.ids,
        kept_ids=forked.ids if forked else (),
        kept_text=forked.text if forked else "",
        params=msgspec.structs.replace(params, max_tokens=most),
        accepted_unix_us=request.accepted_unix_us,
        principal=request.principal,
        priority=0 if request.batch_id is None else BATCH_PRIORITY,
        is_stepped=is_stepped(request.input),
        cache_marks=tuple(
            CacheMark(num_tokens=segment.end, ttl=segment.breakpoint)
            for segment in context.segments
            if segment.breakpoint is not None
        ),
        is_resumed=any(isinstance(event, _BEGUN) for event in events),
    )


def tokenizer_version(events: Sequence[AnyEvent]) -> str:
    """Return the version of the tokenizer that made the prompt. events: a log that has its prompt."""
    prompt = first(events, PromptTokenized)
    assert prompt is not None
    return prompt.version

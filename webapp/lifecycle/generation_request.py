"""Builds the message to an inference worker from a request's row and log: the same for each attempt."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

import msgspec

from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    GenerationForked,
    GenerationInterrupted,
    GenerationResumed,
    GenerationStarted,
    PromptTokenized,
    Segment,
    first,
)
from inference.protocol.generations import last_number, latest
from inference.protocol.request import CacheMark, ChatMessage, ChatPart, GenerationRequest, SamplingParams
from webapp.lifecycle.prompt_packing import most_output
from webapp.requests import services
from webapp.requests.input import features_of, is_stepped
from webapp.requests.models import Request
from webapp.requests.rounds import MAX_ROUNDS, NO_SPECULATION, num_given, round_number

BATCH_PRIORITY = -1
"""The engine reads the prompts of all other requests first, and takes blocks from a batch first."""
_BEGUN = (GenerationStarted, GenerationResumed, GenerationInterrupted)
"""Events after which the log may have tokens of the answer."""


def generation_request(request: Request, events: Sequence[AnyEvent]) -> GenerationRequest:
    """Return the request's last generation. events: its log, which has that generation's prompt."""
    generation, of_request, events = last_number(events), events, latest(events)
    context, prompt = first(events, ContextAssembled), first(events, PromptTokenized)
    assert context is not None and prompt is not None
    forked = first(events, GenerationForked)
    params = _params(request, of_request)
    most = most_output(context.window, len(prompt.ids), params)
    return GenerationRequest(
        request_id=request.pk,
        attempt=request.attempt,
        generation=generation,
        policy=services.policy_of_user(request.user_id),
        model=request.model,
        prompt_ids=prompt.ids,
        chat=chat_of(context.segments),
        kept_ids=forked.ids if forked else (),
        kept_text=forked.text if forked else "",
        kept_thinking=forked.thinking if forked else "",
        thinking=prompt.thinking,
        params=msgspec.structs.replace(params, max_tokens=most),
        accepted_unix_us=request.accepted_unix_us,
        principal=request.principal,
        priority=0 if request.batch_id is None else BATCH_PRIORITY,
        is_stepped=is_stepped(request.input),
        may_guess=NO_SPECULATION not in features_of(request.input),
        cache_marks=tuple(
            CacheMark(num_tokens=segment.end, ttl=segment.breakpoint)
            for segment in context.segments
            if segment.breakpoint is not None
        ),
        is_resumed=any(isinstance(event, _BEGUN) for event in events),
    )


def chat_of(segments: Sequence[Segment]) -> tuple[ChatMessage, ...]:
    """Return a prompt with pictures as messages; empty: it has none. The template's own tokens divide them."""
    if all(segment.image is None for segment in segments):
        return ()
    messages = [list(group) for is_own, group in groupby(segments, _is_templates) if not is_own]
    return tuple(ChatMessage(role=each[0].role, parts=tuple(map(_part, each))) for each in messages)


def _is_templates(segment: Segment) -> bool:
    return segment.kind == "template"


def _part(segment: Segment) -> ChatPart:
    if segment.image is None:
        return ChatPart(text=segment.text)
    return ChatPart(image=segment.image.sha256, media_type=segment.image.media_type)


def _params(request: Request, events: Sequence[AnyEvent]) -> SamplingParams:
    """The parameters of the last generation. `max_tokens` counts through all generations.

    Only the first one may have to call a tool, and the last one is offered none.
    """
    params, number = msgspec.convert(request.params, SamplingParams), round_number(events)
    if number == 0 or params.tool_calls is None:
        return params
    calls = None if number + 1 >= MAX_ROUNDS else msgspec.structs.replace(params.tool_calls, is_required=False)
    return msgspec.structs.replace(params, max_tokens=max(0, params.max_tokens - num_given(events)), tool_calls=calls)


def tokenizer_version(events: Sequence[AnyEvent]) -> str:
    """Return the version of the tokenizer that made the prompt. events: a log that has its prompt."""
    prompt = first(events, PromptTokenized)
    assert prompt is not None
    return prompt.version

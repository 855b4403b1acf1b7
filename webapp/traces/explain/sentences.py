"""A request explained: one sentence for each thing that happened, and where its time went. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import msgspec

from inference.protocol.events import Frame, GenerationInterrupted, PrefillAdvanced, TokenSampled
from inference.protocol.generations import by_number
from webapp.traces.explain.brief import Check, Round, Told, tell

_LEAST_SURE = 3
"""Tokens named as those of which the model was least sure."""


class Statement(msgspec.Struct, frozen=True):
    """One fact about a request."""

    stage: str
    """The stage of the request, as the page names its panels."""
    text: str


def explain(frames: Sequence[Frame]) -> list[Statement]:
    """Return what happened, in the order of the stages. Raises NotTold."""
    told = tell(frames)
    return [*_arrival(told), *_all_rounds(told, frames), *_safety(told.checks), *_end(told)]


def _arrival(told: Told) -> Iterator[Statement]:
    took = "" if told.gateway_us is None else f" The gateway took {_ms(told.gateway_us)}."
    yield Statement("gateway", f"The request came by the surface {told.surface} for the model {told.model}.{took}")
    if told.features:
        yield Statement("gateway", f"Its feature flags are {', '.join(told.features)}.")
    params = told.params
    draw = "greedy" if params.temperature == 0 else f"temperature {params.temperature:g}, top-p {params.top_p:g}"
    yield Statement("sampling", f"Sampling was {draw}, with seed {params.seed} and at most {params.max_tokens} tokens.")


def _all_rounds(told: Told, frames: Sequence[Frame]) -> Iterator[Statement]:
    found = by_number([event for frame in frames for event in frame.events])
    for each in told.rounds:
        events = found.get(each.number, [])
        yield from _context(each)
        yield from _queue(each)
        for lost in (event for event in events if isinstance(event, GenerationInterrupted)):
            yield Statement("queue", f"Attempt {lost.attempt} was {lost.cause} after {_ms(lost.silent_us)} of silence.")
        yield from _prefill([event for event in events if isinstance(event, PrefillAdvanced)])
        yield from _tokens(each, [event for event in events if isinstance(event, TokenSampled)])
        yield from _calls(each)


def _context(found: Round) -> Iterator[Statement]:
    if not found.prompt:
        return
    num_tokens = sum(part.num_tokens for part in found.prompt)
    parts: dict[str, int] = {}
    for part in found.prompt:
        parts[part.kind] = parts.get(part.kind, 0) + part.num_tokens
    listed = ", ".join(f"{kind} {number:,}" for kind, number in parts.items())
    yield Statement("context", f"The prompt of generation {found.number} has {num_tokens:,} tokens: {listed}.")
    if found.num_dropped_tokens:
        text = f"The window was full. Older turns with {found.num_dropped_tokens:,} tokens were left out."
        yield Statement("context", text)
    if all(part.num_cached_tokens is not None for part in found.prompt):
        cached = sum(part.num_cached_tokens or 0 for part in found.prompt)
        yield Statement("cache", f"The prefix cache had {cached:,} of these {num_tokens:,} tokens.")
        if (missed := _first_miss(found)) and cached:
            yield Statement("cache", missed)


def _first_miss(found: Round) -> str:
    part = next((part for part in found.prompt if (part.num_cached_tokens or 0) < part.num_tokens), None)
    return f"The first part that it lacked is {part.kind} ({part.source})." if part else ""


def _queue(found: Round) -> Iterator[Statement]:
    if found.queued_us is not None:
        yield Statement("queue", f"It waited {_ms(found.queued_us)} for the worker {found.worker}.")
    elif found.prompt:
        yield Statement("queue", "No worker's engine began it.")


def _prefill(steps: Sequence[PrefillAdvanced]) -> Iterator[Statement]:
    if steps:
        num_tokens, us = sum(step.end - step.start for step in steps), sum(step.step_us for step in steps)
        text = f"Prefill computed {num_tokens:,} tokens in {_count(len(steps), 'step')} and {_ms(us)}."
        yield Statement("prefill", text)


def _tokens(found: Round, tokens: Sequence[TokenSampled]) -> Iterator[Statement]:
    if not tokens:
        return
    text = f"It sampled {_count(len(tokens), 'token')}, and ended by {found.finish_reason or 'an unknown reason'}."
    yield Statement("sampling", text)
    if len(tokens) > 1:
        slow = max(range(1, len(tokens)), key=lambda at: tokens[at].at - tokens[at - 1].at)
        gap = tokens[slow].at - tokens[slow - 1].at
        mean = (tokens[-1].at - tokens[0].at) / (len(tokens) - 1)
        text = f"A token took {_ms(round(mean))} on average. The longest wait, {_ms(gap)}, was before token {slow + 1}."
        yield Statement("sampling", text)
    if unsure := _least_sure(tokens):
        yield Statement("sampling", f"The model was least sure of {unsure}.")
    if found.num_withheld_tokens:
        yield Statement("release", f"The output check withheld {_count(found.num_withheld_tokens, 'token')}.")


def _least_sure(tokens: Sequence[TokenSampled]) -> str:
    known = [(token.entropy, token) for token in tokens if token.entropy is not None and not token.is_special]
    worst = sorted(known, key=lambda each: -each[0])[:_LEAST_SURE]
    return ", ".join(
        f"token {token.position + 1} {token.piece.decode('utf-8', 'backslashreplace')!r} (entropy {entropy:.2f} nats)"
        for entropy, token in worst
    )


def _calls(found: Round) -> Iterator[Statement]:
    for call in found.calls:
        if call.result is None:
            end = "It has no result."
        else:
            verb = "failed" if call.is_error else "answered"
            end = f"It {verb} in {_ms(call.duration_us or 0)}."
        yield Statement("tools", f"The answer called {call.name}. {end}")


def _safety(checks: Sequence[Check]) -> Iterator[Statement]:
    for check in checks:
        why = f" for {check.category} (score {check.score}, threshold {check.threshold})" if check.category else ""
        text = f"Safety, layer {check.layer}: {_count(check.num_checks, 'check')}, worst verdict {check.verdict}{why}."
        yield Statement("safety", text)


def _end(told: Told) -> Iterator[Statement]:
    if told.failure:
        yield Statement("overview", f"The request failed. {told.failure}")
    if told.stopped_by:
        yield Statement("overview", f"The request was stopped by {told.stopped_by}.")
    first = (
        "No text was released" if told.first_text_us is None else f"The first text came after {_ms(told.first_text_us)}"
    )
    yield Statement("timing", f"{first}. The log ends after {_ms(told.duration_us)}.")
    if told.cost_nano is not None:
        usage = told.usage
        read = usage.uncached_input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h
        cost = f"{told.cost_nano / 1e9:.9f} {told.currency}"
        yield Statement("bill", f"It cost {cost} for {read:,} tokens read and {usage.output:,} written.")


def _ms(us: int) -> str:
    return f"{us / 1000:,.1f} ms"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"

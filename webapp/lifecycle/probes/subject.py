"""Builds a probe's request from a request's events, or gives the reason why it cannot. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    GenerationForked,
    GenerationStarted,
    PromptTokenized,
    RequestAccepted,
    TokenSampled,
    first,
)
from inference.protocol.generations import latest
from inference.protocol.request import MAX_PROBE_TOKENS, ProbeKind, ProbeRequest

_MAX_SHARES = 250_000
"""Limit on the shares of one result: 1 MB, as a result in Redis may have."""


@dataclass(frozen=True)
class _Attending:
    """The tokens of a probe of sources: see ProbeRequest."""

    first: int
    starts: tuple[int, ...]


class CannotProbe(Exception):
    """`code` is for programs: unknown_position, no_ids, no_weights, too_long."""

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


def build(request_id: str, events: Iterable[AnyEvent], kind: ProbeKind, position: int, principal: str) -> ProbeRequest:
    """Build the probe of a token in the last generation. Raises CannotProbe.

    position: index into prompt and answer together; principal: the user.
    """
    found = latest(list(events))
    accepted = first(found, RequestAccepted)
    prompt = first(found, PromptTokenized)
    started = first(found, GenerationStarted)
    if accepted is None or prompt is None or not prompt.ids:
        raise CannotProbe("no_ids", "The trace has no token ids, so the model cannot read it again.")
    if started is None:
        raise CannotProbe("no_weights", "The model has not begun with this request.")
    if started.server is not None or started.architecture is None or started.quantization is None:
        who = started.server or "A server elsewhere"
        raise CannotProbe("no_weights", f"{who} made these tokens; this server does not have its weights.")
    if any(isinstance(event, TokenSampled) and event.is_withheld for event in found):
        raise CannotProbe("no_ids", "The safety policy rewrote part of the answer, so its tokens are not all recorded.")
    answer = {event.position: event.id for event in found if isinstance(event, TokenSampled)}
    kept = next((event.ids for event in found if isinstance(event, GenerationForked)), ())
    ids = [*prompt.ids, *kept, *(answer[place] for place in sorted(answer))]
    if not 0 <= position < len(ids):
        raise CannotProbe("unknown_position", f"position must be from 0 to {len(ids) - 1}, the tokens there are.")
    if position >= MAX_PROBE_TOKENS and kind != "memory":
        raise CannotProbe("too_long", f"Probes can look only at the first {MAX_PROBE_TOKENS:,} tokens.")
    attending = _attending(found, prompt, position) if kind == "sources" else _Attending(0, ())
    return ProbeRequest(
        request_id=request_id,
        accepted_unix_us=accepted.accepted_unix_us,
        kind=kind,
        ids=tuple(ids[: position + 1]),
        next_id=ids[position + 1] if position + 1 < len(ids) else None,
        principal=principal,
        tokenizer_version=prompt.version,
        model=started.model,
        architecture=started.architecture,
        quantization=started.quantization,
        first=attending.first,
        starts=attending.starts,
    )


def _attending(events: Sequence[AnyEvent], prompt: PromptTokenized, position: int) -> _Attending:
    """Return the tokens that chose the answer's, and the ranges of the prompt. Raises CannotProbe.

    The prompt after a call of a tool holds the answer's rounds so far. The last range has the tokens after the prompt.
    """
    context, num_tokens = first(events, ContextAssembled), len(prompt.ids)
    bounds = [each.start for each in context.segments] if context else []
    rounds = [each.start for each in context.segments if each.source.startswith("generation:")] if context else []
    begin = max(0, min([num_tokens, *rounds]) - 1)
    if position < begin:
        raise CannotProbe("unknown_position", f"position must be from {begin}, where the answer begins.")
    starts = tuple(sorted({0, 1, num_tokens, *(start for start in bounds if 0 < start < num_tokens)}))
    if (position - begin + 1) * len(starts) > _MAX_SHARES:
        raise CannotProbe("too_long", "The prompt has too many segments for so long an answer.")
    return _Attending(begin, starts)

"""Builds a probe's request from a request's events, or gives the reason why it cannot. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from inference.protocol.events import (
    AnyEvent,
    GenerationForked,
    GenerationStarted,
    PromptTokenized,
    RequestAccepted,
    TokenSampled,
    first,
)
from inference.protocol.generations import latest
from inference.protocol.request import MAX_PROBE_TOKENS, ProbeKind, ProbeRequest


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
    )

"""Keeps what is refused where its user finds it: in the record of use, and among the last refusals."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.requests.models import Request
from webapp.usage.limits.recent_refusals import note, refusal_of
from webapp.usage.limits.refusal import Refused
from webapp.usage.record import record_refusal


def note_refused(requests: Sequence[Request], refused: Refused) -> None:
    """Keep the refusal of requests that begin together, and leave no rows."""
    record_refusals(requests, refused.cause)
    note_call(requests, refused)


def note_call(requests: Sequence[Request], refused: Refused) -> None:
    """Keep the refusal of a call whose work is no request, so that the record of use does not count it."""
    first = requests[0]
    key = "" if first.key is None else first.key.prefix
    note(first.user_id, refusal_of(refused, len(requests), first.surface, first.model, key))


def record_refusals(requests: Sequence[Request], code: str) -> None:
    """Count requests that leave no row of their own."""
    for request in requests:
        record_refusal(request.user_id, request.surface, request.model, code, request.key_id)

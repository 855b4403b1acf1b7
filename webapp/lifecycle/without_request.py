"""Admits a question that leaves no request and no trace: the counting of a prompt."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from redis.exceptions import RedisError

from inference.protocol.request import Usage
from webapp.lifecycle.admission import admit_at_once
from webapp.lifecycle.refusals import note_call
from webapp.requests.models import Request
from webapp.usage.limits.charge import NOTHING
from webapp.usage.limits.refusal import Refused
from webapp.usage.limits.taking import correct_to


@contextmanager
def admitted_question(call: Request) -> Iterator[None]:
    """Take one request from the rates for a call that has no bill. `call` is not saved. Raises Refused, RedisError."""
    try:
        admit_at_once(call, NOTHING)
    except Refused as refused:
        note_call([call], refused)
        raise
    try:
        yield
    finally:
        with suppress(RedisError):  # without it the buckets fill by themselves
            correct_to(call.pk, Usage())

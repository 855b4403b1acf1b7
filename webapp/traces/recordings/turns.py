"""Writes the turns of recordings, and finds the turn before. Knows nothing of how prompts are compared."""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from inference.protocol.events import ContextAssembled, ContextCompared
from webapp.ground.gateway.refusal import Refusal
from webapp.requests.models import Request
from webapp.traces.recordings.difference import difference_of
from webapp.traces.recordings.models import MAX_NAME_CHARS, Recording, Turn

MAX_RECORDINGS = 200
NAME = re.compile(rf"[a-z0-9][a-z0-9._-]{{0,{MAX_NAME_CHARS - 1}}}")
NAME_IN_WORDS = (
    f"A recording's name has 1 to {MAX_NAME_CHARS} characters: a to z, 0 to 9, and after the first one also . _ -"
)


class TooManyRecordings(Refusal):
    """The user has reached the limit of recordings."""

    code = "too_many"

    def __init__(self) -> None:
        super().__init__(f"You have {MAX_RECORDINGS} recordings, the limit. Delete one first.")


def record(name: str, requests: Sequence[Request]) -> None:
    """Add requests of one user to the recording of this name, in the transaction that saves them.

    The first one makes the recording. Raises TooManyRecordings.
    """
    user_id = requests[0].user_id
    recording = Recording.objects.filter(user_id=user_id, name=name).first() or _made(user_id, name)
    Turn.objects.bulk_create(Turn(request=request, recording=recording) for request in requests)


def check_recordings(name: str, user_id: int) -> None:
    """Raises TooManyRecordings where the recording of this name is new and one too many."""
    own = Recording.objects.filter(user_id=user_id)
    if own.count() >= MAX_RECORDINGS and not own.filter(name=name).exists():
        raise TooManyRecordings


def _made(user_id: int, name: str) -> Recording:
    check_recordings(name, user_id)
    return Recording.objects.get_or_create(user_id=user_id, name=name)[0]


def note_difference(request: Request, compared: ContextCompared, context: ContextAssembled | None) -> None:
    """Keep the figures of a comparison with the turn, so that a list of turns reads no trace."""
    Turn.objects.filter(pk=request.pk).update(difference=msgspec.to_builtins(difference_of(compared, context)))

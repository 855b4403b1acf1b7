"""Operations on a user's recordings. Knows nothing of how a call joins one."""

from __future__ import annotations

from datetime import datetime
from typing import Any

import msgspec
from django.db.models import Count, Max, QuerySet
from django.http import HttpRequest

from webapp.ground.gateway.errors import ApiError, not_found, user_id
from webapp.ground.gateway.names import save_named
from webapp.ground.gateway.structs import Body, Query, Result
from webapp.requests.models import Request
from webapp.requests.summary import RequestSummary, summary_fields
from webapp.traces.recordings import models
from webapp.traces.recordings.difference import PromptDifference
from webapp.traces.recordings.turns import NAME, NAME_IN_WORDS

_MOST_LISTED = 100


class RecordingChange(Body):
    """A recording's new name. Calls to the address of the old one begin another recording."""

    name: str


class TurnsQuery(Query):
    """Which turns."""

    after: int = 0
    """Turns to leave out, from the first one on."""


class RecordingItem(Result):
    """A recording in a list."""

    id: int
    name: str
    """It stands in the address: `/record/<name>/v1`."""
    created_at: datetime
    num_turns: int
    last_at: datetime | None
    """Time of the newest turn; null: it has none any more."""


class RecordingList(Result):
    """The user's recordings, the one with the newest turn first."""

    recordings: list[RecordingItem]


class RecordedTurn(RequestSummary):
    """A request of a recording."""

    number: int
    """Its place in the recording, counted from 1."""
    difference: PromptDifference | None
    """From the turn before, whose messages this one goes on from. Null: not known, or there is none."""


class Recording(RecordingItem):
    """A recording with some of its turns, the oldest first."""

    turns: list[RecordedTurn]


def list_recordings(request: HttpRequest) -> RecordingList:
    """List the user's recordings."""
    rows = _rows(request).order_by("-last_at", "-pk")
    return RecordingList(recordings=[RecordingItem(**_fields(row)) for row in rows])


def show_recording(request: HttpRequest, recording_id: int, query: TurnsQuery) -> Recording:
    """Show a recording with 100 of its turns."""
    row = _find(request, recording_id)
    if not 0 <= query.after < 1 << 31:
        raise ApiError(400, "invalid", "after is a number of turns, from 0.", "after")
    found = Request.objects.filter(turn__recording=row).select_related("turn").defer("input", "output_text")
    shown = found.order_by("created_at", "pk")[query.after : query.after + _MOST_LISTED]
    turns = [_turn(each, query.after + place) for place, each in enumerate(shown, start=1)]
    return Recording(**_fields(row), turns=turns)


def rename_recording(request: HttpRequest, recording_id: int, body: RecordingChange) -> RecordingItem:
    """Rename a recording, and so its address. 409 `exists`."""
    row = _find(request, recording_id)
    if not NAME.fullmatch(body.name):
        raise ApiError(400, "invalid", f"{NAME_IN_WORDS}.", "name")
    row.name = body.name
    save_named(row, "recording")
    return RecordingItem(**_fields(row))


def delete_recording(request: HttpRequest, recording_id: int) -> None:
    """Delete a recording. Its requests and their traces stay in the library."""
    _find(request, recording_id).delete()


def _rows(request: HttpRequest) -> QuerySet[Any]:
    own = models.Recording.objects.filter(user_id=user_id(request))
    return own.annotate(num_turns=Count("turns"), last_at=Max("turns__request__created_at"))


def _find(request: HttpRequest, recording_id: int) -> Any:
    """Raises ApiError."""
    row = _rows(request).filter(pk=recording_id).first() if recording_id < 1 << 63 else None
    if row is None:
        raise not_found("recording")
    return row


def _fields(row: Any) -> dict[str, Any]:
    return {name: getattr(row, name) for name in RecordingItem.__struct_fields__} | {"id": row.pk}


def _turn(request: Request, number: int) -> RecordedTurn:
    kept = request.turn.difference
    difference = None if kept is None else msgspec.convert(kept, PromptDifference)
    return RecordedTurn(**summary_fields(request), number=number, difference=difference)

"""Checks that an imported trace has a beginning and an end, and that its events and figures fit. Pure."""

from __future__ import annotations

import re

import msgspec

from inference.protocol.events import RequestAccepted
from webapp.requests.outcome import Outcome, fold
from webapp.traces.file.archive import Archive, TraceFileError
from webapp.traces.file.event_rules import BadEvent, check_events

_MAX_FIGURE = 2**53
"""A browser holds integers up to this exactly."""
_MAX_CODE_CHARS = 32
_CODE = re.compile(rf"[^\x00]{{1,{_MAX_CODE_CHARS}}}", re.DOTALL)
_CURRENCY = re.compile(r"[A-Za-z]{3}")


def check(archive: Archive) -> tuple[RequestAccepted, Outcome]:
    """Return the trace's first event and its outcome. Raises TraceFileError."""
    first = archive.frames[0].events[0] if archive.frames else None
    if not isinstance(first, RequestAccepted):
        raise TraceFileError("The trace does not begin with request.accepted.")
    try:
        check_events(event for frame in archive.frames for event in frame.events)
    except BadEvent as error:
        raise TraceFileError(f"The trace cannot be shown: {error}") from error
    outcome = fold(archive.frames)
    if not outcome.is_terminal:
        raise TraceFileError("The trace has no end: it was saved before its request had finished.")
    _check_figures(first, outcome)
    _check_words(outcome)
    return first, outcome


def _check_figures(first: RequestAccepted, outcome: Outcome) -> None:
    times = (first.accepted_unix_us, outcome.duration_us, outcome.first_text_us or 0)
    counts = (*msgspec.structs.astuple(outcome.usage), outcome.bill.total_nano if outcome.bill else 0)
    if any(not 0 <= figure < _MAX_FIGURE for figure in times + counts):
        raise TraceFileError("The trace has a time, a count or a price that is negative or too large.")


def _check_words(outcome: Outcome) -> None:
    if outcome.bill is not None and not _CURRENCY.fullmatch(outcome.bill.currency):
        raise TraceFileError("The trace's bill has no three-letter currency.")
    failure = outcome.failure
    if failure is not None and not all(_CODE.fullmatch(word) for word in (failure.stage, failure.code)):
        raise TraceFileError(f"The trace's failure has no stage or code of 1 to {_MAX_CODE_CHARS} characters.")

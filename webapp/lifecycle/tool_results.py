"""Writes the result of a call into the log. Knows nothing of how the call was answered."""

from __future__ import annotations

from inference.eventlog.clock import RequestClock
from inference.protocol.events import AnyEvent, ToolFinished
from inference.protocol.generations import numbered
from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.rounds import Called
from webapp.tools import catalog


def finished(request: Request, called: Called, found: catalog.Result, number: int) -> list[AnyEvent]:
    """The events of a result. A result that the safety policy blocks is replaced before any of it is written.

    number: of the generation that made the call.
    """
    at = RequestClock(request.accepted_unix_us).at
    done_at = at()
    check = services.guard(request.user_id).check(found.text, "tool_result")
    event = ToolFinished(
        at=done_at,
        generation=number,
        call_id=called.id,
        result=check.passed_on,
        is_error=found.is_error or check.verdict == "block",
        duration_us=found.duration_us,
    )
    return [event, numbered(check.event(at(), "tool_result", 0, len(check.text)), number)]

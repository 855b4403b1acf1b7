"""A summary as the API shows it. Knows nothing of HTTP."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from inference.protocol.request import FinishReason
from webapp.ground.gateway.structs import Result
from webapp.requests import summary as requests_summary
from webapp.surfaces.chat import models

State = Literal["open", "done", "failed"]


class Summary(Result):
    """A summary that stands for the oldest turns of a branch."""

    id: str
    state: State
    """open: it is being made. failed: it holds for nothing, and the turns stay as they are."""
    request_id: str | None
    """Its generation, a request with its own trace and bill; null: deleted."""
    up_to_id: str
    """The last message that it covers. It holds for each branch with this message."""
    text: str
    num_turns: int
    num_tokens_before: int
    num_tokens: int | None
    """Null until it is made."""
    cost_nano: int | None
    currency: str
    finish_reason: FinishReason | None
    """The reason why its generation ended. Null while it runs, and where it failed before an end or was deleted."""
    problem: str | None
    """The reason why it failed."""
    created_at: datetime


def shown_summary(summary: models.Summary) -> Summary:
    """Return the summary as it is shown."""
    request, state = summary.request, _state(summary)
    return Summary(
        id=summary.pk,
        state=state,
        request_id=summary.request_id,
        up_to_id=summary.up_to_id,
        text=summary.text,
        num_turns=summary.num_turns,
        num_tokens_before=summary.num_tokens_before,
        num_tokens=request.num_output_tokens if request else None,
        cost_nano=request.cost_nano if request else None,
        currency=request.currency if request else "",
        finish_reason=requests_summary.finish_reason(request) if request else None,
        problem=_problem(summary) if state == "failed" else None,
        created_at=summary.created_at,
    )


def _state(summary: models.Summary) -> State:
    if summary.is_open:
        return "open"
    return "done" if summary.text else "failed"


def _problem(summary: models.Summary) -> str:
    request = summary.request
    if request is None:
        return "Its request was deleted."
    if (error := requests_summary.error(request)) is not None:
        return error.message
    told = {"stopped": "It was stopped.", "withheld": "The safety policy withheld a part of it."}
    return told.get(request.status, "The model wrote nothing.")

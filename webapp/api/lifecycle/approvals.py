"""The operation that decides about a call of a tool that changes something."""

from __future__ import annotations

from typing import Literal

from django.http import HttpRequest

from webapp.api.requests.requests import find
from webapp.ground.gateway.errors import ApiError
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body, Result
from webapp.lifecycle.approvals import NotWaiting, decide


class Decision(Body):
    """The user's decision about one call."""

    call_id: str
    """That of the event `tool.approval_asked`."""
    approve: bool
    """True: the call is made. False: it is not, and the model reads so."""


class Decided(Result):
    """The decision is in the request's log."""

    status: Literal["approved", "declined"]


@answers(202)
def decide_call(request: HttpRequest, request_id: str, body: Decision) -> Decided:
    """Approve or decline a call that waits for it; the same decision again changes nothing. 409 `not_waiting`."""
    try:
        decide(find(request, request_id), body.call_id, body.approve)
    except NotWaiting:
        raise ApiError(409, "not_waiting", "This call waits for no decision, or was decided otherwise.") from None
    return Decided("approved" if body.approve else "declined")

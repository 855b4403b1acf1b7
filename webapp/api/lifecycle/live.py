"""Operations of the live page: the last fifteen minutes, the stop of one request, and a worker that drains."""

from __future__ import annotations

from django.http import HttpRequest

from webapp.api.operators import checked_operator
from webapp.api.requests.requests import Stopping
from webapp.api.usage.limits import check_rank
from webapp.ground.audit.log import record
from webapp.ground.gateway.errors import ApiError, not_found
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body
from webapp.lifecycle.live.operators import STOP, VIEW
from webapp.lifecycle.live.reading import read_histories, read_now
from webapp.lifecycle.live.view import Live
from webapp.lifecycle.stop import stop
from webapp.requests.models import Request
from webapp.requests.workers import heartbeats, set_drained


def show_live(request: HttpRequest) -> Live:
    """Show what the workers do now and did in the last 15 minutes, for operators. 403 `forbidden`.

    `WS /live` sends the next moments. 503 `queue_unavailable` while Redis cannot be reached.
    """
    checked_operator(request, VIEW, "Only operators see what the workers do.")
    return Live(now=read_now(), histories=read_histories())


class DrainBody(Body):
    """Whether a worker takes new requests."""

    is_drained: bool
    """True: it ends its answers, and takes no new ones."""


def drain_worker(request: HttpRequest, name: str, body: DrainBody) -> None:
    """Let a worker take no more requests, or take them again, for operators who may change requests. 403 `forbidden`.

    The worker obeys within seconds. 404 where no such worker has a heartbeat. The audit log tells of it.
    """
    operator = checked_operator(request, STOP, "Only operators with the permission to change requests drain workers.")
    if name not in heartbeats():
        raise not_found("worker")
    set_drained(name, body.is_drained)
    what = "drain" if body.is_drained else "take requests again"
    record(operator, f"let worker {name} {what}, signed in as")


@answers(202)
def stop_any_request(request: HttpRequest, request_id: str) -> Stopping:
    """Stop a request of any user, for operators with the permission to change requests. 403 `forbidden`.

    404 where there is no such request, 409 `ended` where it has ended already. The audit log tells of the stop.
    """
    refusal = "Only operators with the permission to change requests stop those of others."
    operator = checked_operator(request, STOP, refusal)
    found = Request.objects.filter(pk=request_id).select_related("message", "run", "user").first()
    if found is None:
        raise not_found("request")
    check_rank(operator, found.user)
    # The id alone: an erasure replaces names in entries about the account, and this one is about the request.
    before = {"status": found.status, "user": found.user_id}
    if not stop(found, by="operator"):
        raise ApiError(409, "ended", "This request has ended already, or is about to end.")
    record(found, "stopped", before, before | {"status": "stopping"})
    return Stopping()

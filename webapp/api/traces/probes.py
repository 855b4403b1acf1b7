"""The operation that probes a token: returns a saved probe at once, or queues a new one for the probe worker."""

from __future__ import annotations

import msgspec
from django.http import HttpRequest

from inference.eventlog.keys import probe_key
from inference.protocol.codec import encode_request
from inference.protocol.events import ProbeAttended, ProbeCompared, ProbeLensed, ProbeMeasured, ProbeSummed
from inference.protocol.request import ProbeKind
from webapp.api.requests.requests import find
from webapp.api.requests.waiting import Waiting
from webapp.ground.gateway.answer import Answer
from webapp.ground.gateway.errors import ApiError, not_found
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.structs import Body
from webapp.identity.keys.keys import check_scope
from webapp.identity.keys.middleware import key_of
from webapp.lifecycle.probes import models
from webapp.lifecycle.probes.job import JobStatus, Overloaded, WorkerJob
from webapp.lifecycle.probes.subject import CannotProbe, build
from webapp.requests import services
from webapp.requests.models import Request
from webapp.traces import store
from webapp.usage.limits.rules import check_flag, check_working

_PATIENCE_S = {"queued": 60.0, "running": 300.0}
"""Seconds per state, longer than the queue takes. A probe has the lowest priority: minutes beside a busy engine."""


class ProbeBody(Body):
    """The probe's kind and token. `sources` looks at all tokens of the answer up to it."""

    kind: ProbeKind
    position: int
    """Index into prompt and answer together."""


ProbeEvent = ProbeAttended | ProbeSummed | ProbeLensed | ProbeCompared | ProbeMeasured


@answers(200, 202)
def probe(request: HttpRequest, request_id: str, body: ProbeBody) -> Answer[ProbeEvent | Waiting]:
    """Look into the model at one token: the probe's event. 202: ask again.

    400 `unknown_position`; 409 `no_ids`, `no_weights` (a remote back end made the tokens), `too_long`, `other_model`,
    `model_unavailable`; 403 `switched_off`, `views_only` for a probe that is not saved; 503 `no_worker`, `worker_lost`,
    `overloaded`.
    """
    found = find(request, request_id)
    check_scope(key_of(request), "chat", found.model)
    check_flag(found.user_id, "may_probe")
    if found.is_settled and not hasattr(found, "trace"):
        raise not_found("saved trace")
    if not 0 <= body.position < 1 << 31:
        raise ApiError(400, "invalid", "position must be the index of a token.", "position")
    event = models.load(found.pk, body.kind, body.position)
    return Answer(msgspec.Raw(event)) if event is not None else _asked(found, body)


def _asked(found: Request, body: ProbeBody) -> Answer[ProbeEvent | Waiting]:
    job = WorkerJob(probe_key(found.pk, body.kind, body.position))
    status = job.status()
    if status is None:
        _ask(job, found, body)
        return Answer(Waiting(state="queued"), status=202)
    if status.state == "done":
        if models.save(found.pk, body.kind, body.position, status.event):
            job.clear()
        return Answer(msgspec.Raw(status.event))
    if status.state == "failed":
        job.clear()
        raise ApiError(409, status.code, status.message)
    if status.waited_s > _PATIENCE_S[status.state]:
        job.clear()
        raise _given_up(status)
    return Answer(msgspec.convert({"state": status.state}, Waiting), status=202)


def _ask(job: WorkerJob, found: Request, body: ProbeBody) -> None:
    check_working(found.user_id)
    try:
        frames = store.load_frames(found.pk) if found.is_settled else services.event_log().read(found.pk)
        events = [event for frame in frames for event in frame.events]
        job.enqueue(encode_request(build(found.pk, events, body.kind, body.position, found.principal)))
    except CannotProbe as error:
        is_field = error.code == "unknown_position"
        raise ApiError(400 if is_field else 409, error.code, str(error), "position" if is_field else None) from None
    except Overloaded:
        message = "Too many probes are waiting. Try again in a minute."
        raise ApiError(503, "overloaded", message, retry_after_s=60) from None


def _given_up(status: JobStatus) -> ApiError:
    if status.state == "queued":
        message = f"No probe worker took this in {status.waited_s:.0f} s. Is the `probes` process running?"
        return ApiError(503, "no_worker", f"{message} Its log says why not.")
    return ApiError(
        503, "worker_lost", f"The probe worker began {status.waited_s:.0f} s ago and has not ended. Try again."
    )

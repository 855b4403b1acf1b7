"""How far open requests have come, as their rows tell. Knows nothing of HTTP."""

from __future__ import annotations

from redis.exceptions import RedisError

from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.outcome import is_started


def note_started(user_id: int) -> None:
    """Write into the rows which of the user's queued requests a worker has begun.

    Asked before rows are read by their status. The worker has no database, and whoever prepared the request does not
    wait for it; only its log knows. As long as the log cannot be read, they stay queued.
    """
    queued = Request.objects.filter(user_id=user_id, finished_at=None, status=Request.Status.QUEUED)
    try:
        started = [pk for pk in queued.values_list("pk", flat=True) if _is_started(pk)]
    except RedisError:
        return
    if started:
        queued.filter(pk__in=started).update(status=Request.Status.RUNNING)


def _is_started(request_id: str) -> bool:
    return is_started([event for frame in services.event_log().read(request_id) for event in frame.events])

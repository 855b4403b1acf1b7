"""Updates the status of open requests in their rows. Knows nothing of HTTP."""

from __future__ import annotations

from redis.exceptions import RedisError

from webapp.requests import services
from webapp.requests.models import Request
from webapp.requests.outcome import is_started


def note_started(user_id: int) -> None:
    """Mark the user's queued requests that a worker has begun as running.

    Call it before reading rows by status. Only the log knows the start: the worker has no database, and the
    preparation does not wait for it. While the log cannot be read, the requests stay queued.
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

"""The request that a thread or a coroutine works for, so that its log lines can name it. Knows nothing of requests."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

_REQUEST: ContextVar[str | None] = ContextVar("request_id", default=None)


def name_request(request_id: str | None) -> None:
    """Name the request in all later lines of this context. None: no request."""
    _REQUEST.set(request_id)


@contextmanager
def about(request_id: str | None) -> Iterator[None]:
    """Name the request in the lines of this block."""
    token = _REQUEST.set(request_id)
    try:
        yield
    finally:
        _REQUEST.reset(token)


def named_request() -> str | None:
    return _REQUEST.get()

"""WhiteNoise as a middleware of both chains of the handler. Knows nothing of the files."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from functools import cache
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.utils.decorators import sync_and_async_middleware
from whitenoise.middleware import WhiteNoiseMiddleware


@sync_and_async_middleware
def static_files(get_response: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Serve the site's files. The address of a view that waits is no file's, and WhiteNoise is only synchronous."""
    return get_response if iscoroutinefunction(get_response) else _before(get_response)


def _before(get_response: Callable[[Any], Any]) -> Any:
    middleware = copy(_with_files())
    middleware.get_response = get_response
    return middleware


@cache
def _with_files() -> WhiteNoiseMiddleware:
    """A middleware that has listed the files. A process lists them once, which takes a tenth of a second."""
    return WhiteNoiseMiddleware(lambda _: None)

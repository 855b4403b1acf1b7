"""Exceptions that no view expects: a database that does not answer in time, and faults. Knows nothing of views."""

from __future__ import annotations

import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views import defaults

from webapp.ground.gateway.errors import ApiError, is_api

_LOCKED = {"55P03", "40P01"}
"""A lock was not free in time, or two requests waited for each other."""
_SLOW = {"57014"}
"""The statement's time was over."""
_GONE = {"08", "53", "57", "25P03"}
"""The connection failed, the server has no room for it or is stopping, or it ended a transaction that stood still."""
_BUSY = {"SQLITE_BUSY", "SQLITE_LOCKED"}
_NO_ROOM = ("SQLITE_FULL", "SQLITE_IOERR", "SQLITE_CANTOPEN")
"""Prefixes of the names of SQLite's errors where a disk is full or away."""
_RETRY_S = 5


def server_error(request: HttpRequest) -> HttpResponse:
    """Django's hook for an uncaught exception, which Django has logged."""
    refusal = database_refusal(sys.exc_info()[1])
    if is_api(request):
        message = "Something went wrong here; the server's log has the details. Try again."
        return (refusal or ApiError(500, "internal", message)).response()
    if refusal is None:
        return defaults.server_error(request)
    page = render(request, "503.html", status=refusal.status)
    page["Retry-After"] = str(refusal.retry_after_s)
    return page


def database_refusal(error: BaseException | None) -> ApiError | None:
    """The answer where the same request can succeed later; None: the error is another."""
    if not isinstance(error, OperationalError | InterfaceError):
        return None
    cause = error.__cause__
    state, name = getattr(cause, "sqlstate", None) or "", getattr(cause, "sqlite_errorname", "")
    if state in _LOCKED or name in _BUSY:
        return _refusal("database_locked", "Another request holds in the database what this one needs.")
    if state in _SLOW:
        return _refusal("database_slow", "The database took too long.")
    if state[:2] in _GONE or state in _GONE or name.startswith(_NO_ROOM) or _is_lost(error):
        return _refusal("database_unavailable", "The server's database cannot be reached, or takes no more data.")
    return None


def _is_lost(error: Exception) -> bool:
    """psycopg tells of a connection that it cannot make, or has lost, without a code of the server."""
    return getattr(error.__cause__, "sqlstate", "other") is None


def _refusal(code: str, why: str) -> ApiError:
    return ApiError(503, code, f"{why} Try again in a few seconds.", retry_after_s=_RETRY_S)

"""Tells the session of a sign-in, and of each use. Knows nothing of the limits."""

from __future__ import annotations

import logging
from typing import Any

from django.contrib.auth.signals import user_logged_in
from django.db import Error
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.deprecation import MiddlewareMixin

from webapp.identity.accounts.address import client_address, network_of
from webapp.identity.accounts.browser import browser_of

logger = logging.getLogger(__name__)

_BY_ITSELF = {"/api/notices", "/api/health", "/api/session"}
"""An open page asks for these again and again, also where its user is away."""


class NoteUse(MiddlewareMixin):
    """Middleware, below that of the sessions. A stream that goes on is no use."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if request.path not in _BY_ITSELF:
            _note(request)
        return response


def _note(request: HttpRequest) -> None:
    """Where the database takes no write, as on a full disk, the answer still goes out."""
    try:
        request.session.note_use()  # type: ignore[attr-defined]
    except Error:  # an InterfaceError is no DatabaseError
        logger.exception("the use of a sign-in is not noted")


def follow_sign_ins() -> None:
    """Let each session know when and where it began."""
    user_logged_in.connect(_begin, dispatch_uid="webapp.identity.accounts.use")


def _begin(request: HttpRequest, **_more: Any) -> None:
    browser = browser_of(request.META.get("HTTP_USER_AGENT", ""))
    network = network_of(client_address(request))
    request.session.begin(browser.name, browser.system, network)  # type: ignore[attr-defined]

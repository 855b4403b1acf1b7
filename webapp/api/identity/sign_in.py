"""The page where people sign in with a password."""

from __future__ import annotations

import math
from typing import Any

from django.conf import settings
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from webapp.identity.accounts.address import client_address
from webapp.identity.accounts.throttle import SignInThrottle, TooMany, begin_attempt, forgive
from webapp.identity.notices.models import shown_at

_UNITS = ((24 * 60, "day"), (60, "hour"), (1, "minute"))


class SignInPage(LoginView):
    """The form, with the notices of now. Wrong passwords and checks at once are limited."""

    template_name = "login.html"
    throttle: SignInThrottle | None = None

    def get_context_data(self, **more: Any) -> dict[str, Any]:
        limits = settings.ENVIRONMENT
        told = {"idle": in_words(limits.session_idle_minutes), "longest": in_words(limits.session_minutes)}
        return super().get_context_data(**more) | told | {"notices": shown_at(timezone.now())}

    def post(self, request: HttpRequest, *args: Any, **more: Any) -> HttpResponse:
        assert self.throttle is not None
        address = client_address(request)
        try:
            with self.throttle.place(address):
                attempt = begin_attempt(request.POST.get("username", ""), address)
                response = super().post(request, *args, **more)
        except TooMany as refused:
            return _later(request, refused.retry_after_s)
        if response.status_code == 302:  # signed in; else the form again
            forgive(attempt)
        return response


def in_words(minutes: int) -> str:
    """The time in the largest unit that leaves no rest: `3 days`."""
    size, unit = next(each for each in _UNITS if minutes % each[0] == 0)
    return f"{minutes // size} {unit}{'' if minutes == size else 's'}"


def _later(request: HttpRequest, retry_after_s: int) -> HttpResponse:
    minutes = math.ceil(retry_after_s / 60) if retry_after_s > 1 else 0
    response = render(request, "sign_in_later.html", {"minutes": minutes}, status=429)
    response["Retry-After"] = str(retry_after_s)
    response["Cache-Control"] = "no-store"
    return response

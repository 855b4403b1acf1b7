"""Signs a user in with a one-time link."""

from __future__ import annotations

from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from webapp.accounts.links import use_link


@never_cache
@require_safe
def sign_in(request: HttpRequest, token: str) -> HttpResponse:
    """GET /signin/<token>: sign in and redirect to the chat. HEAD (link previews) does not use the link up."""
    if request.method == "HEAD":
        return HttpResponse()
    user = use_link(token)
    if user is None:
        return redirect("/") if request.user.is_authenticated else render(request, "link_used.html", status=410)
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return redirect("/")

"""Signs a user in with a one-time link, after a click: nothing that only opens the address uses the link up."""

from __future__ import annotations

from django.contrib.auth import login
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from webapp.identity.accounts.links import LIFETIME, find_link, use_link


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def sign_in(request: HttpRequest, token: str) -> HttpResponse:
    """GET /signin/<token> shows the account and a button. POST, from that button, signs in and leads to the chat."""
    if request.method == "POST":
        return _use(request, token)
    user = find_link(token)
    if user is None:
        return _used(request)
    if user == request.user:
        return redirect("/")
    return render(request, "sign_in_link.html", {"account": user})


def _use(request: HttpRequest, token: str) -> HttpResponse:
    user = use_link(token)
    if user is None:
        return _used(request)
    login(request, user, backend="django.contrib.auth.backends.ModelBackend")
    return redirect("/")


def _used(request: HttpRequest) -> HttpResponse:
    if request.user.is_authenticated:
        return redirect("/")
    return render(request, "link_used.html", {"minutes": LIFETIME.seconds // 60}, status=410)

"""The admin's site, whose pages name their user as the actor. Knows nothing of the tables that it shows."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.contrib.admin import AdminSite
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from webapp.ground.audit.actor import acting


class AuditedAdminSite(AdminSite):
    """Django's admin site. Changes that its pages make carry their actor."""

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        def audited_view(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            with acting(request.user.pk):
                return view(request, *args, **kwargs)

        return super().admin_view(audited_view, cacheable)

    def login(self, request: HttpRequest, extra_context: Any = None) -> HttpResponse:
        """There is one page to sign in, which counts failures."""
        path = request.GET.get("next", "/admin/")
        return redirect(f"{settings.LOGIN_URL}?{urlencode({'next': path}, safe='/')}")

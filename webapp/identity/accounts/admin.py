"""Accounts in the admin. An account is erased on the desk, not deleted: bills and sums need its row."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

admin.site.unregister(User)


@admin.register(User)
class AccountAdmin(UserAdmin):  # type: ignore[type-arg]
    """Django's own account admin, which leads to the erasure in place of the deletion."""

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """No page offers a deletion, and no action on selected accounts."""
        return False

    def delete_view(self, request: HttpRequest, object_id: str, extra_context: Any = None) -> HttpResponse:
        """An old address of the deletion leads to the account's page on the desk."""
        return redirect(f"/admin/users/{object_id}/")

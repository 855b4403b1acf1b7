"""Accounts in the admin. An account with ledger entries is closed, not deleted: each entry names its user."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin
from django.contrib.auth.models import User
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

admin.site.unregister(User)


@admin.register(User)
class AccountAdmin(UserAdmin):  # type: ignore[type-arg]
    """Django's own account admin, with its own explanation for an account that cannot be deleted."""

    def get_deleted_objects(self, objs: Iterable[Any], request: HttpRequest) -> tuple[Any, ...]:
        users = list(objs)
        if protected := [_protected(user) for user in users if user.ledger_entries.exists()]:
            return [], {}, set(), protected
        return super().get_deleted_objects(users, request)


def _protected(user: Any) -> SafeString:
    """Return the sentence that follows Django's "would require deleting the following protected related objects"."""
    return format_html(
        "{} in the ledger, which stay for good. To close the account, untick \u201cActive\u201d on "
        '<a href="{}">{}\u2019s page</a> instead: then no one can sign in to it or use it.',
        f"Entries of {user} ({user.ledger_entries.count():,})",
        reverse("admin:auth_user_change", args=[user.pk]),
        user,
    )

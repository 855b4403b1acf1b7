"""All users' keys among the admin's tables: read and revoked, never made or changed."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from webapp.identity.keys.keys import revoke
from webapp.identity.keys.models import ApiKey


@admin.register(ApiKey)
class ApiKeyAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """The keys without their digests."""

    list_display = ("prefix", "name", "user", "created_at", "last_used_at", "expires_at", "revoked_at")
    list_select_related = ("user",)
    list_filter = (("revoked_at", admin.EmptyFieldListFilter),)
    search_fields = ("=prefix", "name", "user__username")
    ordering = ("-created_at",)
    exclude = ("digest",)
    actions = ("revoke_selected",)

    @admin.action(description="Revoke selected keys", permissions=["view"])
    def revoke_selected(self, request: HttpRequest, chosen: QuerySet[ApiKey]) -> None:
        """Only superusers revoke those of a superuser."""
        rows = chosen.select_related("user")
        under = rows if request.user.is_superuser else rows.exclude(user__is_superuser=True)
        for key in under:
            revoke(key)

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("keys.revoke_keys")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

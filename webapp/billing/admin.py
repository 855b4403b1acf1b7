"""Prices and ledger in the admin."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest

from webapp.billing.models import LedgerEntry, Price


@admin.register(Price)
class PriceAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    list_display = ("model", "kind", "unit_price_nano", "currency", "effective_from")
    list_filter = ("model", "kind")


@admin.register(LedgerEntry)
class LedgerEntryAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """The ledger, read-only: entries are never changed."""

    list_display = ("request_id", "user", "model", "posted_at", "uncached_input", "output", "total_nano", "currency")
    list_filter = ("model", "user")
    search_fields = ("request_id",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: LedgerEntry | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: LedgerEntry | None = None) -> bool:
        return False

"""Prices and ledger in the admin."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from webapp.models.billing.models import LedgerEntry, Price
from webapp.models.billing.price_changes import MAX_UNIT_NANO, last_priced_bill


class PriceForm(forms.ModelForm):  # type: ignore[type-arg]
    """One price, under the rules of the desk: bills that are posted stay as they are."""

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or {}
        nano, day = given.get("unit_price_nano"), given.get("effective_from")
        if nano is not None and not 0 <= nano <= MAX_UNIT_NANO:
            self.add_error("unit_price_nano", f"Enter 0 to {MAX_UNIT_NANO:,} billionths.")
        last = last_priced_bill(given.get("model", ""))
        if day is not None and last is not None and day <= last:
            self.add_error("effective_from", f"Bills are posted up to {last} and stay. Choose a later day.")
        return given


@admin.register(Price)
class PriceAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    form = PriceForm
    list_display = ("model", "kind", "unit_price_nano", "currency", "effective_from")
    list_filter = ("model", "kind")

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        """No action on many rows: each row has its own rule."""
        return {}

    def has_change_permission(self, request: HttpRequest, obj: Price | None = None) -> bool:
        return super().has_change_permission(request, obj) and not _has_billed(obj)

    def has_delete_permission(self, request: HttpRequest, obj: Price | None = None) -> bool:
        return super().has_delete_permission(request, obj) and not _has_billed(obj)


def _has_billed(price: Price | None) -> bool:
    """True where posted bills may rest on this price."""
    last = None if price is None else last_priced_bill(price.model)
    return price is not None and last is not None and price.effective_from <= last


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

"""The models of the demonstration and their prices. Knows nothing of the users.

Both are the bundled model, served under these names. Sums have no mark, so the names tell demonstration data apart.
"""

from __future__ import annotations

from datetime import date

from webapp.models.billing.models import Price
from webapp.usage.models import DEMO_MODELS

PREFIX = "demo-"
"""Begins the name of each user, group, worker and model of the demonstration."""
SMALL, LARGE = DEMO_MODELS
PRICES = {
    SMALL: {
        "uncached_input": 150,
        "cache_read": 15,
        "cache_write_5m": 190,
        "cache_write_1h": 300,
        "output": 600,
    },
    LARGE: {
        "uncached_input": 3000,
        "cache_read": 300,
        "cache_write_5m": 3750,
        "cache_write_1h": 6000,
        "output": 15000,
    },
}
"""Billionths of a dollar per token. Bills in recorded requests have these prices: record them again after a change."""
CURRENCY = "USD"
FROM = date(2025, 1, 1)
"""Earlier than every demonstration day."""


def set_prices() -> None:
    Price.objects.bulk_create(
        Price(model=model, kind=kind, unit_price_nano=nano, currency=CURRENCY, effective_from=FROM)
        for model, prices in PRICES.items()
        for kind, nano in prices.items()
    )


def remove_prices() -> None:
    Price.objects.filter(model__in=PRICES).delete()

"""Prices, a reader and a queue that each test empties itself."""

from __future__ import annotations

from datetime import date

import pytest
import redis
from django.contrib.auth.models import User

from tests.webapp.usage.repricing.comparing import MODEL
from webapp.models.billing.models import Price
from webapp.models.billing.price_book import KINDS

NANO = {"uncached_input": 100, "cache_read": 10, "cache_write_5m": 125, "cache_write_1h": 200, "output": 400}


@pytest.fixture
def prices(redis_client: redis.Redis) -> None:
    Price.objects.all().delete()
    for kind in KINDS:
        Price.objects.create(
            model=MODEL, kind=kind, unit_price_nano=NANO[kind], currency="USD", effective_from=date(2020, 1, 1)
        )


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice")


@pytest.fixture
def queued(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ids that were queued; each test runs them itself."""
    ids: list[str] = []
    monkeypatch.setattr("webapp.usage.repricing.tasks.queue", ids.append)
    return ids

"""A database with a known use, and a site whose metrics are asked for."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.conf import LazySettings
from django.contrib.auth.models import User
from django.db import transaction
from django.test import Client
from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from webapp.usage import roll_up
from webapp.usage.models import UsageRecord

TOKEN = "0123456789abcdef-metrics"
NOON = datetime(2026, 3, 29, 12, tzinfo=UTC)

Record = Callable[..., UsageRecord]


@pytest.fixture
def record(db: None) -> Record:
    """Writes a record of use with its sums."""
    user, numbers = User.objects.create_user("alice"), iter(range(1000))

    def write(**fields: Any) -> UsageRecord:
        number = next(numbers)
        known = {"surface": "chat", "model": "small", "status": "done", "accepted_at": NOON + timedelta(days=number)}
        written = UsageRecord(request_id=f"req_{number}", user=user, **known | fields)
        with transaction.atomic():
            written.save(force_insert=True)
            roll_up.add(written)
        return written

    return write


@pytest.fixture
def site(settings: LazySettings) -> Client:
    """A client with the token."""
    settings.ENVIRONMENT = dataclasses.replace(settings.ENVIRONMENT, metrics_token=TOKEN)
    return Client(headers={"Authorization": f"Bearer {TOKEN}"})


def scrape(site: Client) -> dict[str, Metric]:
    answer = site.get("/metrics")
    assert answer.status_code == 200, answer
    return {family.name: family for family in text_string_to_metric_families(answer.content.decode())}


def samples(family: Metric) -> dict[tuple[str, ...], float]:
    """The family's values by name and labels."""
    return {(each.name, *map(str, each.labels.values())): each.value for each in family.samples}

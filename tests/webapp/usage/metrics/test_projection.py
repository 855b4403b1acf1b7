"""Every counter and histogram equals what the records themselves add up to."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest
from django.contrib.auth.models import User
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase
from prometheus_client import Metric

from tests.webapp.usage.test_record import RECORDS
from webapp.models.billing.bill import KINDS
from webapp.usage import roll_up
from webapp.usage.metrics.families import TIMES, families
from webapp.usage.models import UsageRecord
from webapp.usage.totals import all_use

pytestmark = pytest.mark.django_db

ENDINGS = st.sampled_from(
    [("done", ""), ("stopped", ""), ("failed", "worker_lost"), ("blocked", "blocked"), ("refused", "too_many_open")]
)


class Projection(TestCase):
    @settings(max_examples=25, deadline=None, suppress_health_check=[HealthCheck.too_slow])
    @given(st.lists(st.tuples(RECORDS, ENDINGS), max_size=12))
    def test_the_families_equal_the_records(self, drawn: list[tuple[UsageRecord, tuple[str, str]]]) -> None:
        user = User.objects.create_user("alice")
        for number, (record, (status, code)) in enumerate(drawn):
            record.pk, record.request_id, record.user = None, f"req_{number}", user
            record.status, record.error_code = status, code
            record.save(force_insert=True)
            roll_up.add(record)
        records = [record for record, _ in drawn]
        found = {family.name.removeprefix("sightglass_"): family for family in families(all_use())}
        accepted = [each for each in records if each.status != "refused"]
        answered = [each for each in accepted if each.status == "done"]
        assert total(found["request_success"]) == len(answered)
        assert total(found["request_unanswered"]) == len(accepted) - len(answered)
        assert total(found["request_refusals"]) == len(records) - len(accepted)
        assert total(found["unpriced_requests"]) == sum(each.price_version == "unpriced" for each in accepted)
        assert by(found["safety_verdicts"], "verdict") == nonzero(Counter(r.verdict for r in accepted if r.verdict))
        assert total(found["generation_tokens"]) == sum(each.output for each in accepted)
        for kind in KINDS[:-1]:
            assert by(found["prompt_tokens"], "kind")[kind] == sum(getattr(each, kind) for each in accepted)
        assert total(found["prefix_cache_hits"]) == sum(each.cache_read for each in accepted)
        known = [each for each in accepted if each.is_cache_known is not False]
        hidden = sum(each.uncached_input for each in accepted) - sum(each.uncached_input for each in known)
        every = sum(getattr(each, kind) for each in accepted for kind in KINDS[:-1])
        assert total(found["prefix_cache_queries"]) == every - hidden
        for currency in ("USD", "EUR"):
            nano = sum(each.cost_nano or 0 for each in accepted if each.currency == currency)
            assert round(by(found["cost"], "currency")[currency] * 10**9, 3) == nano
        for timed in TIMES:
            # Sketches have refusals too; a real refusal has no times.
            values = [value for each in records if (value := getattr(each, timed.metric)) is not None]
            check_histogram(found[timed.name], values, timed.bounds)


def total(family: Metric) -> float:
    return sum(sample.value for sample in family.samples)


def by(family: Metric, label: str) -> Counter[str]:
    found = Counter[str]()
    for sample in family.samples:
        found[sample.labels[label]] += sample.value  # type: ignore[assignment]
    return nonzero(found)


def nonzero(counts: Counter[str]) -> Counter[str]:
    return Counter({key: value for key, value in counts.items() if value})


def check_histogram(family: Metric, values: list[int], bounds: tuple[float, ...]) -> None:
    counts = Counter[str]()
    totals: dict[str, Any] = {"count": 0, "sum": 0.0}
    for sample in family.samples:
        _, _, part = sample.name.rpartition("_")
        if part == "bucket":
            counts[sample.labels["le"]] += int(sample.value)
        else:
            totals[part] += sample.value
    assert totals["count"] == counts["+Inf"] == len(values)
    assert abs(totals["sum"] - sum(values) / 10**6) <= 0.01 * sum(values) / 10**6 + 2e-6 * len(values)
    for bound in bounds:
        least = sum(value <= bound * 10**6 for value in values)
        assert least <= counts[str(bound)] <= sum(value <= bound * 1.021 * 10**6 for value in values)

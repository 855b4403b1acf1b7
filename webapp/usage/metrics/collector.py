"""All metrics of the site, read when they are asked for. Knows nothing of who may ask.

Only the HTTP figures are counted in this process. All others are projections of the record of use and of Redis.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from functools import cache

import redis
from django.db import DatabaseError
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from webapp.usage.metrics.families import PREFIX, families
from webapp.usage.metrics.http import register
from webapp.usage.metrics.workers import worker_families
from webapp.usage.totals import all_use

logger = logging.getLogger(__name__)


class SiteCollector(Collector):
    """The projections. A part that does not answer has no families, and `up` says so."""

    def collect(self) -> Iterator[Metric]:
        up = GaugeMetricFamily(PREFIX + "up", "1: the part answered. 0: its metrics are missing.", labels=["part"])
        for part, read in _PARTS.items():
            try:
                found = read()
            except (DatabaseError, redis.RedisError) as error:
                logger.warning("the metrics of the %s are missing: %s", part, error)
                up.add_metric([part], 0)
            else:
                up.add_metric([part], 1)
                yield from found
        yield up

    def describe(self) -> list[Metric]:
        """Names are not read beforehand: that would ask the database at import."""
        return []


def _use() -> list[Metric]:
    return list(families(all_use()))


_PARTS = {"database": _use, "redis": worker_families}


@cache
def registry() -> CollectorRegistry:
    """The metrics of this process."""
    made = CollectorRegistry()
    made.register(SiteCollector())
    made.register(ProcessCollector(registry=None))
    register(made)
    return made

"""Pushes the metrics to the operator's OTLP endpoint once a minute, from the process that sends traces."""

from __future__ import annotations

import asyncio
import logging
import time
from datetime import UTC, datetime
from threading import Thread
from typing import Any

import redis
from celery.signals import worker_ready
from django.conf import settings
from django.db import DatabaseError, close_old_connections

from inference.eventlog.connections import connect
from inference.eventlog.keys import PREFIX
from webapp.environment import OtlpEndpoint
from webapp.traces.export.otlp import OtlpError, post
from webapp.usage.metrics.otlp import to_otlp
from webapp.usage.totals import all_use

logger = logging.getLogger(__name__)

INTERVAL_S = 60
_TIMEOUT_S = 10.0
_TURN_KEY = f"{PREFIX}otlp:metrics"


@worker_ready.connect
def _start(**_: Any) -> None:
    if settings.ENVIRONMENT.otlp is not None:
        Thread(target=_keep_pushing, args=[settings.ENVIRONMENT.otlp], name="metrics", daemon=True).start()


def _keep_pushing(endpoint: OtlpEndpoint) -> None:
    """Push until the process ends. The same trouble is logged once."""
    client, said = connect(settings.ENVIRONMENT.redis_url), ""
    while True:
        said = push_or_log(endpoint, client, said)
        time.sleep(INTERVAL_S)


def push_or_log(endpoint: OtlpEndpoint, client: redis.Redis, said: str = "") -> str:
    """Push, and return the trouble; empty: there was none. said: the trouble of the last time, not logged again."""
    try:
        push_in_turn(endpoint, client)
    except (OtlpError, DatabaseError, redis.RedisError) as error:
        problem = str(error)
        if problem != said:
            logger.warning("the metrics were not sent: %s", problem)
    except Exception as error:
        problem = repr(error)
        if problem != said:
            logger.exception("the metrics were not sent")
    else:
        problem = ""
    return problem


def push_in_turn(endpoint: OtlpEndpoint, client: redis.Redis) -> bool:
    """Push unless another process has done so in this interval. Raises OtlpError, DatabaseError, RedisError."""
    if not client.set(_TURN_KEY, "1", nx=True, ex=INTERVAL_S - 5):
        return False
    close_old_connections()
    message = to_otlp(all_use(), datetime.now(UTC))
    asyncio.run(post(endpoint.metrics_url, endpoint.headers, message.SerializeToString(), _TIMEOUT_S))
    return True

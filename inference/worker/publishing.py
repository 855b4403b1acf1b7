"""Publishes a worker's snapshot once a second, beside the engine, and the last 15 minutes of them. Knows no reader."""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from threading import Event
from typing import TYPE_CHECKING, Any

import msgspec
import redis

from inference.backends.backend import Backend
from inference.eventlog.clock import unix_us
from inference.eventlog.connections import connect
from inference.eventlog.keys import snapshot_history_key, snapshot_key, snapshot_workers_key
from inference.protocol.snapshot import HISTORY_S, SILENT_S, WorkerSnapshot, encode_snapshot
from inference.worker.device_memory import device_memory

if TYPE_CHECKING:
    import torch

logger = logging.getLogger(__name__)

_TIMEOUT_S = 2


@dataclass(frozen=True)
class Publisher:
    """Makes and publishes the snapshots of one worker."""

    name: str
    model: str
    backend: Backend
    started_unix_us: int
    cuda: torch.device | None = None
    """The device that computes; None: the CPU, or a server elsewhere."""

    def run(self, redis_url: str, is_stopping: Event) -> None:
        """Publish until the worker stops, and a last time then. Trouble is logged once, and ends nothing."""
        client = connect(redis_url, timeout_s=_TIMEOUT_S)
        is_lost, is_over = False, False
        while not is_over:
            # Whole seconds, so that the snapshots of several workers can be added up.
            is_over = is_stopping.wait(1 - time.time() % 1)
            try:
                publish(client, self.snapshot(is_over))
                is_lost = False
            except redis.RedisError as error:
                if not is_lost:
                    logger.warning("the worker's snapshot cannot be published: %s", error)
                is_lost = True
            except Exception:
                if not is_lost:
                    logger.exception("the worker's snapshot cannot be published")
                is_lost = True

    def snapshot(self, is_stopping: bool = False) -> WorkerSnapshot:
        """Return the worker's state now."""
        description = self.backend.description
        return WorkerSnapshot(
            worker=self.name,
            started_unix_us=self.started_unix_us,
            unix_us=unix_us(),
            is_stopping=is_stopping,
            model=self.model,
            device=description.device,
            architecture=description.architecture,
            quantization=description.quantization,
            compute=description.compute,
            server=description.server,
            rss_bytes=resident_bytes(),
            work=self.backend.work(),
            device_memory=device_memory(self.cuda),
        )


def publish(client: redis.Redis, snapshot: WorkerSnapshot) -> None:
    """Write the snapshot as the worker's last, and add it to the history without its requests. Raises RedisError."""
    name, now_s = snapshot.worker, redis_seconds(client)
    brief = msgspec.structs.replace(snapshot, work=msgspec.structs.replace(snapshot.work, requests=()))
    pipeline = client.pipeline()
    pipeline.zadd(snapshot_workers_key(), {name: now_s})
    pipeline.zremrangebyscore(snapshot_workers_key(), "-inf", now_s - HISTORY_S)
    pipeline.expire(snapshot_workers_key(), HISTORY_S)
    pipeline.set(snapshot_key(name), encode_snapshot(snapshot), ex=SILENT_S)
    pipeline.xadd(snapshot_history_key(name), {"snapshot": encode_snapshot(brief)}, maxlen=HISTORY_S)
    pipeline.expire(snapshot_history_key(name), HISTORY_S)
    pipeline.execute()


def redis_seconds(client: redis.Redis) -> int:
    """Return the time by Redis's clock: the clocks of two workers' machines may differ. Raises RedisError."""
    now: Any = client.time()
    return int(now[0])


def resident_bytes() -> int | None:
    """Return the process's resident memory; None where the system does not tell."""
    import psutil  # only here: it takes 10 ms of a start

    try:
        return int(psutil.Process().memory_info().rss)
    except (psutil.Error, OSError):
        return None

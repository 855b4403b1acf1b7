"""The inference workers and the queues as Prometheus families, as Redis has them now. Knows nothing of the database."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

import redis
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric

from inference.protocol.snapshot import WorkerSnapshot
from webapp.requests.queues import QUEUES, num_generations, queue_lengths
from webapp.requests.snapshots import Published, latest
from webapp.requests.workers import WorkerStatus, workers
from webapp.usage.metrics.families import PER_S, PREFIX

STATES = ("loading", "ready", "draining", "failed")
_LABELS = ("worker", "model_name")


def worker_families() -> list[Metric]:
    """Return the families of workers and queues. Raises RedisError."""
    lengths = dict(zip(QUEUES, queue_lengths(*QUEUES), strict=True)) | {"generate": num_generations()}
    found = workers()
    if found is None:
        raise redis.ConnectionError("the heartbeats cannot be read")
    return [*_states(found), _queues(lengths), *_snapshots(latest())]


def _states(found: list[WorkerStatus]) -> Iterator[Metric]:
    counts = Counter[str](worker.state for worker in found)
    family = GaugeMetricFamily(PREFIX + "workers", "Inference workers with a heartbeat, by state.", labels=["state"])
    for state in STATES:
        family.add_metric([state], counts[state])
    yield family


def _queues(lengths: dict[str, int]) -> Metric:
    family = GaugeMetricFamily(PREFIX + "queue_messages", "Messages that no worker has taken.", labels=["queue"])
    for queue, length in lengths.items():
        family.add_metric([queue], length)
    return family


def _snapshots(published: list[Published]) -> Iterator[Metric]:
    up = GaugeMetricFamily(
        PREFIX + "worker_up", "1: the worker publishes. 0: it fell silent in the last 15 minutes.", labels=_LABELS
    )
    for each in published:
        if not each.snapshot.is_stopping:
            up.add_metric(_labels(each.snapshot), int(each.is_current))
    yield up
    current = [each.snapshot for each in published if each.is_current]
    for name, description in _GAUGES.items():
        yield _family(GaugeMetricFamily(PREFIX + name, description, labels=_LABELS), name, current)
    for name, description in _COUNTERS.items():
        yield _family(CounterMetricFamily(PREFIX + name, description, labels=_LABELS), name, current)


def _family(family: GaugeMetricFamily | CounterMetricFamily, name: str, current: list[WorkerSnapshot]) -> Metric:
    for snapshot in current:
        value = _values(snapshot).get(name)
        if value is not None:
            family.add_metric(_labels(snapshot), value)
    return family


def _labels(snapshot: WorkerSnapshot) -> tuple[str, str]:
    return snapshot.worker, snapshot.model


_GAUGES = {
    "num_requests_running": "Requests whose prompt is being read or whose answer is being written.",
    "num_requests_waiting": "Requests that the worker has taken and that wait for a step or for blocks.",
    "num_requests_paused": "Requests in step mode whose next token waits for a person.",
    "kv_cache_usage_ratio": "Share of the blocks of keys and values that sequences use.",
    "kv_cache_cached_ratio": "Share of the blocks that only the prefix cache keeps.",
    "engine_batch_sequences": "Sequences of the last step.",
    "worker_resident_memory_bytes": "Resident memory of the worker's process.",
    "worker_start_time_seconds": "Start of the worker's process, seconds since the epoch.",
}
_COUNTERS = {
    "engine_steps": "Steps of the engine.",
    "engine_step_time_seconds": "Time of these steps.",
    "num_preemptions": "How often a sequence gave up its blocks.",
}
"""They begin at 0 with each process."""


def _values(snapshot: WorkerSnapshot) -> dict[str, float | None]:
    """The values by name; None: the back end does not know."""
    work, steps, blocks = snapshot.work, snapshot.work.steps, snapshot.work.blocks
    found: dict[str, float | None] = {
        "num_requests_running": work.num_running,
        "num_requests_waiting": work.num_waiting,
        "num_requests_paused": work.num_paused,
        "worker_resident_memory_bytes": snapshot.rss_bytes,
        "worker_start_time_seconds": snapshot.started_unix_us / PER_S,
    }
    if blocks is not None and blocks.num_blocks:
        found["kv_cache_usage_ratio"] = blocks.num_used / blocks.num_blocks
        found["kv_cache_cached_ratio"] = blocks.num_cached / blocks.num_blocks
    if steps is not None:
        found["engine_batch_sequences"] = steps.last_num_sequences
        found["engine_steps"] = steps.num_steps
        found["engine_step_time_seconds"] = steps.total_us / PER_S
        found["num_preemptions"] = steps.num_preemptions
    return found

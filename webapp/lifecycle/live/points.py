"""From a worker's snapshots to what is drawn: gauges as they are, counters as rates. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from inference.protocol.snapshot import SILENT_S, Work, WorkerSnapshot
from webapp.ground.gateway.structs import Result
from webapp.requests.snapshots import Entry


class Point(Result):
    """One worker at one moment. Rates are means since the point before. A value that is not known is null."""

    at_ms: int
    """Unix time in ms, by Redis's clock."""
    num_running: int
    """Streams: requests whose prompt is being read or whose answer is being written."""
    num_waiting: int | None
    """Requests that the worker has taken and that wait for a step."""
    num_paused: int
    """Requests in step mode that wait for a person's choice."""
    decode_per_s: float | None
    """Tokens of answers per second."""
    prefill_per_s: float | None
    """Tokens of prompts computed per second."""
    batch: int | None
    """Sequences in the last step; 0: no step since the point before."""
    step_ms: float | None
    """Mean time of a step; null also where there was none."""
    num_queried: int | None
    """Input tokens looked up in the prefix cache since the point before."""
    num_hit: int | None
    """Those among them that the cache gave."""
    kv_used: float | None
    """Share of the key/value blocks in use, 0 to 1."""
    kv_cached: float | None
    """Share of the blocks that only the prefix cache keeps."""
    num_preemptions: int | None
    """Preemptions since the point before."""
    rss_bytes: int | None
    """Resident memory of the process."""
    device_used_bytes: int | None
    """Memory in use on the CUDA device, by all processes."""
    since_ms: float | None
    """Time since the point before; null: there is none of this life."""
    busy_ms: float | None
    """Time of the engine's steps that ended since the point before. A long one began before it."""


def points(entries: Sequence[Entry]) -> list[Point]:
    """Return a point for each entry. The first has no rates."""
    found = [point(None, entry) for entry in entries[:1]]
    return found + [point(before, after) for before, after in pairwise(entries)]


def point(before: Entry | None, after: Entry) -> Point:
    """Return the entry as a point; before: the entry before it, of the same worker."""
    snapshot, work = after.snapshot, after.snapshot.work
    was = before.snapshot if before is not None and _are_neighbours(before.snapshot, snapshot) else None
    growth = _Growth(was.work if was else None, work)
    seconds = (snapshot.unix_us - was.unix_us) / 1e6 if was else 0.0
    num_steps, step_us = growth.steps("num_steps"), growth.steps("total_us")
    blocks = work.blocks
    return Point(
        at_ms=after.unix_ms,
        num_running=work.num_running,
        num_waiting=work.num_waiting,
        num_paused=work.num_paused,
        decode_per_s=_rate(growth.of("num_decode_tokens"), seconds),
        prefill_per_s=_rate(growth.of("num_prefill_tokens"), seconds),
        batch=work.steps.last_num_sequences if work.steps and num_steps else num_steps,
        step_ms=round(step_us / num_steps / 1000, 3) if num_steps and step_us is not None else None,
        num_queried=growth.cache("num_queried_tokens"),
        num_hit=growth.cache("num_hit_tokens"),
        kv_used=round(blocks.num_used / blocks.num_blocks, 4) if blocks else None,
        kv_cached=round(blocks.num_cached / blocks.num_blocks, 4) if blocks else None,
        num_preemptions=growth.steps("num_preemptions"),
        rss_bytes=snapshot.rss_bytes,
        device_used_bytes=snapshot.device_memory.used_bytes if snapshot.device_memory else None,
        since_ms=seconds * 1000 if was else None,
        busy_ms=None if step_us is None else step_us / 1000,
    )


def _are_neighbours(before: WorkerSnapshot, after: WorkerSnapshot) -> bool:
    """Return whether both are of one life of the process, and no silence lies between them."""
    is_same_life = before.started_unix_us == after.started_unix_us
    return is_same_life and 0 < after.unix_us - before.unix_us <= SILENT_S * 1_000_000


class _Growth:
    """The growth of counters between two moments; None where one of them is not known, or the counter was reset."""

    def __init__(self, before: Work | None, after: Work) -> None:
        self._before = before
        self._after = after

    def of(self, name: str) -> int | None:
        return _growth(self._before, self._after, name)

    def steps(self, name: str) -> int | None:
        return _growth(self._before and self._before.steps, self._after.steps, name)

    def cache(self, name: str) -> int | None:
        return _growth(self._before and self._before.cache, self._after.cache, name)


def _growth(before: object, after: object, name: str) -> int | None:
    first: int | None = getattr(before, name, None)
    last: int | None = getattr(after, name, None)
    return None if first is None or last is None or last < first else last - first


def _rate(growth: int | None, seconds: float) -> float | None:
    return None if growth is None or seconds <= 0 else round(growth / seconds, 2)

"""Reads the present moment and the last fifteen minutes: workers from Redis, users' names from the database."""

from __future__ import annotations

import time

from inference.eventlog.clock import unix_us
from inference.protocol.snapshot import WorkerRequest, WorkerSnapshot
from webapp.lifecycle.live.points import point, points
from webapp.lifecycle.live.view import LiveNow, LiveRequest, LiveSite, LiveWorker, WorkerHistory, WorkerState
from webapp.requests.models import Request
from webapp.requests.queues import num_generations, queue_lengths
from webapp.requests.snapshots import Published, history, latest
from webapp.requests.workers import WorkerStatus, heartbeats

Owners = dict[str, tuple[str, str]]
"""User's name and surface, by request."""


def read_now(num_followed: int | None = None) -> LiveNow:
    """The present moment. Raises RedisError."""
    published, alive = latest(), heartbeats()
    owners = _owners(published)
    silent = {each.snapshot.worker for each in published}
    starting = [_starting(name, status) for name, status in alive.items() if name not in silent]
    workers = [_worker(each, alive.get(each.snapshot.worker), owners) for each in published] + starting
    (num_prepare, num_settle), num_generate = queue_lengths("prepare", "settle"), num_generations()
    return LiveNow(
        at_ms=round(time.time() * 1000),
        problem="",
        site=LiveSite(num_followed, num_prepare, num_generate, num_settle),
        workers=sorted(workers, key=lambda worker: worker.name),
    )


def unknown_now(problem: str) -> LiveNow:
    """The present moment where nothing is known of it."""
    return LiveNow(at_ms=round(time.time() * 1000), problem=problem, site=None, workers=[])


def read_histories() -> list[WorkerHistory]:
    """The last 15 minutes of each worker. Raises RedisError."""
    names = sorted(each.snapshot.worker for each in latest())
    return [WorkerHistory(name, points(history(name))) for name in names]


def _owners(published: list[Published]) -> Owners:
    ids = [request.request_id for each in published for request in each.snapshot.work.requests]
    rows = Request.objects.filter(pk__in=ids).values_list("pk", "user__username", "surface") if ids else []
    return {pk: (name, surface) for pk, name, surface in rows}


def _worker(published: Published, status: WorkerStatus | None, owners: Owners) -> LiveWorker:
    snapshot, recent = published.snapshot, published.recent
    before = recent[0] if len(recent) > 1 else None
    is_ready = published.is_current and bool(recent)
    state = _state(published, status)
    return _described(
        snapshot,
        state=state,
        message=status.message if status and state == "failed" else "",
        last_ms=recent[-1].unix_ms if recent else None,
        point=point(before, recent[-1]) if is_ready else None,
        requests=[_request(each, owners) for each in snapshot.work.requests] if is_ready else [],
    )


def _described(snapshot: WorkerSnapshot, **more: object) -> LiveWorker:
    blocks = snapshot.work.blocks
    fields: dict[str, object] = {
        "name": snapshot.worker,
        "progress": None,
        "started_ms": snapshot.started_unix_us // 1000,
        "model": snapshot.model,
        "device": snapshot.device,
        "architecture": snapshot.architecture,
        "quantization": snapshot.quantization,
        "compute": snapshot.compute,
        "server": snapshot.server,
        "num_blocks": blocks and blocks.num_blocks,
        "block_size": blocks and blocks.block_size,
        "has_device_memory": snapshot.device_memory is not None,
        "device_total_bytes": snapshot.device_memory and snapshot.device_memory.total_bytes,
    }
    return LiveWorker(**(fields | more))  # type: ignore[arg-type]


def _state(published: Published, status: WorkerStatus | None) -> WorkerState:
    if status is not None and status.state == "failed":
        return "failed"
    if published.is_current:
        return "draining" if status is not None and status.state == "draining" else "ready"
    return "stopped" if published.snapshot.is_stopping else "lost"


def _starting(name: str, status: WorkerStatus) -> LiveWorker:
    """A worker that has a heartbeat and no snapshot yet."""
    return LiveWorker(
        name=name,
        # A worker that is ready publishes within a second.
        state="failed" if status.state == "failed" else "loading",
        progress=None if status.state == "failed" else float(status.progress or 0),
        message=status.message,
        last_ms=None,
        started_ms=None,
        model=status.model,
        device=None,
        architecture=None,
        quantization=None,
        compute=None,
        server=None,
        num_blocks=None,
        block_size=None,
        has_device_memory=False,
        device_total_bytes=None,
        point=None,
        requests=[],
    )


def _request(request: WorkerRequest, owners: Owners) -> LiveRequest:
    user, surface = owners.get(request.request_id, (None, None))
    return LiveRequest(
        id=request.request_id,
        user=user,
        surface=surface,
        state=request.state,
        num_prompt_tokens=request.num_prompt_tokens,
        num_computed_tokens=request.num_computed_tokens,
        num_output_tokens=request.num_output_tokens,
        age_ms=max(0, (unix_us() - request.accepted_unix_us) // 1000),
    )

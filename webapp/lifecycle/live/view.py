"""The service at this moment, as the live page gets it. A value that is not known is null."""

from __future__ import annotations

from typing import Literal

from inference.protocol.snapshot import WorkState
from webapp.ground.gateway.structs import Result
from webapp.lifecycle.live.points import Point

WorkerState = Literal["loading", "ready", "draining", "failed", "stopped", "lost"]
"""draining: the worker ends its answers and takes no new ones. lost: it fell silent without a word. stopped: it was
told to stop."""


class LiveRequest(Result):
    """One request that a worker has taken and not ended."""

    id: str
    user: str | None
    """Name of its user; null: the site has no such request."""
    surface: str | None
    """The API that the request came by."""
    state: WorkState | None
    """Null: the remote back end does not tell."""
    num_prompt_tokens: int
    num_computed_tokens: int | None
    """Tokens of prompt and answer that are computed or were found in the cache."""
    num_output_tokens: int
    age_ms: int
    """Time since the site accepted it."""


class LiveWorker(Result):
    """One inference worker of the last 15 minutes."""

    name: str
    state: WorkerState
    progress: float | None
    """Share of the model that is loaded; null where the worker does not load."""
    message: str
    """The cause of a failure."""
    last_ms: int | None
    """Unix time of its last snapshot, in ms; null: it has published none."""
    started_ms: int | None
    """Unix time at which its process began, in ms."""
    model: str
    device: str | None
    architecture: str | None
    quantization: str | None
    compute: str | None
    """The code that computes, such as the kernels."""
    server: str | None
    """Name and version of the remote back end; null: the worker's own engine."""
    num_blocks: int | None
    """Key/value blocks in all."""
    block_size: int | None
    """Tokens per block."""
    has_device_memory: bool
    """The worker computes on a CUDA device, which has memory of its own."""
    device_total_bytes: int | None
    """Memory of that device in all."""
    point: Point | None
    """Null: the worker is not ready."""
    requests: list[LiveRequest]
    """Empty also where the worker is not ready: its requests are not known then."""


class LiveSite(Result):
    """The site's own part."""

    num_followed: int | None
    """Streams of open answers to browsers and clients from this web process. Null: asked outside the live stream."""
    num_prepare: int
    """Requests in the queue of the preparation, which no lifecycle worker has taken."""
    num_generate: int
    """Prepared requests that no inference worker has taken."""
    num_settle: int
    """Ended requests that wait to be saved."""


class LiveNow(Result):
    """The service at one moment."""

    at_ms: int
    """Unix time in ms, by the site's clock."""
    problem: str
    """Empty: all is known. Else the reason why nothing is known now; the other fields are empty then."""
    site: LiveSite | None
    workers: list[LiveWorker]


class WorkerHistory(Result):
    """The last 15 minutes of one worker."""

    name: str
    points: list[Point]
    """About one per second, the oldest first."""


class Live(Result):
    """The service now, and its last 15 minutes. `WS /live` then sends a `LiveNow` each second."""

    now: LiveNow
    histories: list[WorkerHistory]

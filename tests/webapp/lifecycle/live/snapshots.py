"""Snapshots as a worker would publish them."""

from __future__ import annotations

from inference.protocol.snapshot import (
    DeviceMemory,
    KVBlocks,
    PrefixCacheCounters,
    StepCounters,
    Work,
    WorkerRequest,
    WorkerSnapshot,
)
from webapp.requests.snapshots import Entry

START_US = 1_700_000_000_000_000


def snapshot(
    worker: str = "w",
    at_us: int = START_US,
    num_decoded: int = 0,
    num_steps: int = 0,
    started_us: int = START_US,
    requests: tuple[WorkerRequest, ...] = (),
    is_stopping: bool = False,
    num_hit: int = 0,
    device_memory: DeviceMemory | None = None,
) -> WorkerSnapshot:
    """Each step takes 20 ms; half of the input tokens come from the cache."""
    return WorkerSnapshot(
        worker=worker,
        started_unix_us=started_us,
        unix_us=at_us,
        is_stopping=is_stopping,
        model="m",
        device="cpu",
        architecture="llama",
        quantization="Q8_0",
        compute="hash",
        server=None,
        rss_bytes=1 << 30,
        work=Work(
            num_running=len(requests),
            num_waiting=0,
            num_paused=0,
            num_prefill_tokens=2 * num_decoded,
            num_decode_tokens=num_decoded,
            steps=StepCounters(num_steps, 20_000 * num_steps, 20_000, 3, 3, 0),
            blocks=KVBlocks(16, 100, 25, 50),
            cache=PrefixCacheCounters(2 * num_hit, num_hit),
            requests=requests,
        ),
        device_memory=device_memory,
    )


def elsewhere(at_us: int, num_decoded: int) -> WorkerSnapshot:
    """A worker with a remote back end, which tells little."""
    work = Work(1, None, 0, None, num_decoded, None, None, None, ())
    return WorkerSnapshot("r", START_US, at_us, False, "m", None, None, None, None, "vLLM 0.9", None, work)


def entry(snapshot: WorkerSnapshot) -> Entry:
    return Entry(snapshot.unix_us // 1000, snapshot)


def request(request_id: str, accepted_unix_us: int = START_US) -> WorkerRequest:
    return WorkerRequest(request_id, 1, accepted_unix_us, "decode", 40, 47, 7)

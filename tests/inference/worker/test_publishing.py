"""What a worker publishes of itself: the real engine's numbers, once a second, and the last 15 minutes of them."""

from __future__ import annotations

import threading
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
import redis
import torch

from inference.backends.backend import Backend, Job
from inference.engine.loading import load_engine
from inference.eventlog.clock import RequestClock, unix_us
from inference.eventlog.keys import snapshot_history_key, snapshot_key, snapshot_workers_key
from inference.eventlog.memory import MemoryEventLog
from inference.protocol.request import GenerationRequest, SamplingParams
from inference.protocol.snapshot import HISTORY_S, SILENT_S, DeviceMemory, Work, WorkerSnapshot, decode_snapshot
from inference.tokenization.tokenizer import Tokenizer
from inference.worker.engine_thread import EngineThread
from inference.worker.publishing import Publisher, resident_bytes

_DEADLINE_S = 60


@pytest.fixture(scope="module")
def publisher(tiny_path: Path, tokenizer: Tokenizer) -> Publisher:
    return Publisher("w", "smollm2", EngineThread(load_engine(tiny_path, 1, tokenizer), MemoryEventLog()), unix_us())


def job(tokenizer: Tokenizer, request_id: str, num_output: int) -> Job:
    asked = GenerationRequest(
        request_id=request_id,
        attempt=1,
        model="smollm2",
        prompt_ids=tuple(tokenizer.encode("Once upon a time there was a lighthouse. " * 8)),
        params=SamplingParams(temperature=0, max_tokens=num_output),
        accepted_unix_us=unix_us(),
        principal="user:1",
    )
    return Job(asked, tokenizer.eos_ids, RequestClock(asked.accepted_unix_us))


def test_a_snapshot_follows_a_request_through_the_real_engine(publisher: Publisher, tokenizer: Tokenizer) -> None:
    thread = publisher.backend
    assert isinstance(thread, EngineThread)
    before, asked = publisher.snapshot(), job(tokenizer, "a", 5)
    thread.submit(asked)
    queued = publisher.snapshot()
    assert [(each.request_id, each.state) for each in queued.work.requests] == [("a", "waiting")]
    assert queued.work.num_waiting == 1
    thread.turn()
    thread.turn()
    running = publisher.snapshot()
    assert [(each.state, each.num_output_tokens) for each in running.work.requests] == [("decode", 2)]
    while thread.engine.has_work():
        thread.turn()
    after = publisher.snapshot()
    assert after.work.requests == ()
    assert after.work.num_decode_tokens - before.work.num_decode_tokens == 5
    assert (after.worker, after.model, after.architecture) == ("w", "smollm2", "llama")
    assert after.unix_us >= running.unix_us
    assert after.rss_bytes is not None
    assert after.rss_bytes > 1 << 20


def test_the_process_knows_its_memory() -> None:
    assert resident_bytes() is not None


def test_a_worker_on_the_cpu_has_no_device_memory(publisher: Publisher) -> None:
    assert publisher.snapshot().device_memory is None


@pytest.mark.skipif(torch.cuda.is_available(), reason="here a CUDA device tells")
def test_memory_that_the_driver_does_not_tell_is_unknown(publisher: Publisher) -> None:
    asked = replace(publisher, cuda=torch.device("cuda", 0))
    assert asked.snapshot().device_memory == DeviceMemory(None, None)


def test_snapshots_go_to_redis_with_a_last_one_at_the_end(
    publisher: Publisher, redis_url: str, redis_client: redis.Redis
) -> None:
    is_stopping = threading.Event()
    thread = threading.Thread(target=publisher.run, args=(redis_url, is_stopping))
    thread.start()
    entries = redis_client.xread({snapshot_history_key("w"): "0-0"}, block=_DEADLINE_S * 1000)
    assert entries
    first = _last(redis_client)
    assert (first.worker, first.is_stopping) == ("w", False)
    assert redis_client.zrange(snapshot_workers_key(), 0, -1) == [b"w"]
    assert 0 < redis_client.ttl(snapshot_key("w")) <= SILENT_S
    assert 0 < redis_client.ttl(snapshot_history_key("w")) <= HISTORY_S
    is_stopping.set()
    thread.join(_DEADLINE_S)
    assert _last(redis_client).is_stopping
    history = [decode_snapshot(fields[b"snapshot"]) for _, fields in redis_client.xrange(snapshot_history_key("w"))]
    assert [each.is_stopping for each in history][-1]
    assert all(each.work.requests == () for each in history)
    assert history == sorted(history, key=lambda each: each.unix_us)


def test_a_worker_without_redis_goes_on_and_ends(publisher: Publisher, tmp_path: Path) -> None:
    is_stopping = threading.Event()
    is_stopping.set()
    publisher.run(f"unix://{tmp_path}/none.sock", is_stopping)


class _FailsOnce:
    """A backend whose first report fails."""

    def __init__(self, backend: Backend) -> None:
        self._backend, self._has_failed = backend, False
        self.description = backend.description

    def work(self) -> Work:
        if not self._has_failed:
            self._has_failed = True
            raise RuntimeError("list changed during a read")
        return self._backend.work()


def test_a_snapshot_that_cannot_be_made_is_logged_and_ends_nothing(
    publisher: Publisher, redis_url: str, redis_client: redis.Redis, caplog: pytest.LogCaptureFixture
) -> None:
    is_stopping = threading.Event()
    failing = replace(publisher, backend=cast(Backend, _FailsOnce(publisher.backend)))
    thread = threading.Thread(target=failing.run, args=(redis_url, is_stopping))
    thread.start()
    assert redis_client.xread({snapshot_history_key("w"): "0-0"}, block=_DEADLINE_S * 1000)
    is_stopping.set()
    thread.join(_DEADLINE_S)
    assert [each.message for each in caplog.records] == ["the worker's snapshot cannot be published"]


def _last(client: redis.Redis) -> WorkerSnapshot:
    payload = client.get(snapshot_key("w"))
    assert payload is not None
    return decode_snapshot(payload)

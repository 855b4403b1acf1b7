"""A worker whose engine is gone says so and goes too."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

import pytest
import redis

from inference.eventlog.keys import worker_key
from tests.environment import share_made
from webapp.operations.supervisor.child import Child

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
_KILL_THE_ENGINE = """
import time
from inference.worker.host import Host
from inference.worker.settings import read_settings

thread = Host("one", read_settings()).services().backend
thread._inbox.put(lambda: 1 / 0)
thread.join()
time.sleep(300)
"""


def test_a_worker_whose_engine_thread_dies_says_failed_and_ends(
    redis_url: str, redis_client: redis.Redis, tmp_path: Path
) -> None:
    share_made(tmp_path)
    own = {"SIGHTGLASS_DATA": str(tmp_path), "SIGHTGLASS_REDIS_URL": redis_url, "SIGHTGLASS_THREADS": "1"}
    environment = os.environ | own | {"PYTHONPATH": str(ROOT)}
    child = Child("inference", [sys.executable, "-c", _KILL_THE_ENGINE], tmp_path / "worker.log", environment)
    states, deadline = set(), time.monotonic() + 240
    while child.exit_status is None and time.monotonic() < deadline:
        states |= {redis_client.hget(key, "state") for key in redis_client.scan_iter(worker_key("*"))}
        time.sleep(0.05)
    assert child.exit_status == 1
    assert b"failed" in states
    assert "engine's thread has ended or hangs" in child.last_line()

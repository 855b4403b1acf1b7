"""The Redis server's socket has a path that every system takes."""

from __future__ import annotations

import shutil
import signal
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import pytest
import redis
from django.conf import settings

from webapp.operations.supervisor.product import Product, place_for_socket


@pytest.mark.parametrize(
    ("temporary", "place"),
    [
        pytest.param("/tmp", "/tmp", id="Linux"),
        pytest.param(f"/var/folders/zz/{'y' * 30}/T", f"/var/folders/zz/{'y' * 30}/T", id="macOS"),
        pytest.param(f"/home/{'a' * 80}", "/tmp", id="too long for macOS"),
        pytest.param(f"/home/{'ä' * 40}", "/tmp", id="too long in bytes"),
    ],
)
def test_a_long_folder_of_temporary_files_is_left_aside(temporary: str, place: str) -> None:
    assert place_for_socket(temporary) == place


def test_redis_answers_where_the_folder_of_temporary_files_is_long(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = tmp_path / ("a" * 100)
    long.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(long))
    product = Product(replace(settings.ENVIRONMENT, data=tmp_path))
    child = product.start_redis()
    try:
        client, deadline = redis.Redis.from_url(product.redis_url), time.monotonic() + 120
        while not answers(client):
            assert child.exit_status is None, child.ending()
            assert time.monotonic() < deadline
            time.sleep(0.01)
        client.close()
    finally:
        child.send(signal.SIGKILL)
        assert child.wait(120)
        shutil.rmtree(product.runtime)


def answers(client: redis.Redis) -> bool:
    try:
        return bool(client.ping())
    except redis.ConnectionError:
        return False

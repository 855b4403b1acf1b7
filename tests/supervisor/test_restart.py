"""The product is killed in the middle of an answer and started again on the same data."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import httpx
import pytest

from tests.browser.test_product import Running, start
from tests.ports import free_port


def signed_in(running: Running) -> httpx.Client:
    base, _, token = running.link.rpartition("/signin/")
    client = httpx.Client(base_url=base, timeout=30, follow_redirects=True, trust_env=False)
    client.get(f"/signin/{token}").raise_for_status()
    client.headers["X-CSRFToken"] = client.cookies["csrftoken"]
    return client


def wait_until_settled(client: httpx.Client, request_id: str) -> dict[str, object]:
    deadline = time.monotonic() + 30
    while True:
        summary: dict[str, object] = client.get(f"/api/requests/{request_id}").json()
        if summary["error"]:
            return summary
        assert time.monotonic() < deadline, summary
        time.sleep(0.05)


@pytest.fixture
def run_product(tmp_path: Path) -> Iterator[Callable[[], Running]]:
    """Starts the product, each time on the same data."""
    with ExitStack() as stack:

        def run() -> Running:
            running = Running(tmp_path, free_port())
            stack.callback(running.end)
            return running

        yield run


def test_what_was_open_when_the_product_was_killed_is_failed_at_the_next_start(
    run_product: Callable[[], Running],
) -> None:
    running = run_product()
    with closing(signed_in(running)) as client:
        request_id = start(client, "Write a very long story.", max_tokens=4000)
    running.process.kill()
    running.process.wait()
    running.wait_until_all_gone()

    running = run_product()
    assert any("left open by the last run" in line for line in running.lines)
    with closing(signed_in(running)) as client:
        summary = wait_until_settled(client, request_id)
    assert summary["status"] == "failed"
    assert "Send the message again" in str(summary["error"])

    asked = time.monotonic()
    running.end()
    assert time.monotonic() - asked < 15
    assert running.process.returncode == 0
    running.wait_until_all_gone()

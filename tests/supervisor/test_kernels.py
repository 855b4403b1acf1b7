"""The product on machines that lack something: no compiler, one core."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.browser.test_product import Running, start
from tests.ports import free_port
from tests.sign_in import sign_in_by_link


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Starts the product with these settings."""
    with ExitStack() as stack:

        def start_it(**settings: str) -> Running:
            running = Running(tmp_path, free_port(), **settings)
            stack.callback(running.end)
            return running

        yield start_it


def events_of_an_answer(running: Running) -> list[dict[str, Any]]:
    base, _, token = running.link.rpartition("/signin/")
    with closing(httpx.Client(base_url=base, timeout=240, follow_redirects=True, trust_env=False)) as client:
        sign_in_by_link(client, f"/signin/{token}")
        request_id = start(client, "Say hello.", max_tokens=8)
        with client.stream("GET", f"/api/requests/{request_id}/events") as lines:
            data = [line.removeprefix("data: ") for line in lines.iter_lines() if line.startswith("data: ")]
    return [event for line in data for event in json.loads(line).get("events", [])]


def test_without_a_compiler_the_start_says_that_pytorch_computes_and_what_to_do(
    run: Callable[..., Running], tmp_path: Path
) -> None:
    (tmp_path / "kernels").mkdir()  # of its own: nothing is compiled there
    running = run(CC="/nonexistent")
    (line,) = [line for line in running.lines if "PyTorch" in line]
    assert line.startswith(
        "sightglass: PyTorch computes the model, more slowly than the kernels: no C compiler was found"
    )
    assert "CC names /nonexistent" in line
    assert "`make up COMPILER=1`" in line
    (started,) = [event for event in events_of_an_answer(running) if event["type"] == "generation.started"]
    assert "PyTorch" in started["compute"]


def test_pytorch_that_was_asked_for_is_not_announced(run: Callable[..., Running]) -> None:
    running = run(SIGHTGLASS_KERNELS="Torch")
    assert not any("PyTorch" in line for line in running.lines)
    (started,) = [event for event in events_of_an_answer(running) if event["type"] == "generation.started"]
    assert "PyTorch" in started["compute"]


@pytest.fixture
def one_core() -> Iterator[None]:
    """Leave this process, and those that it starts, one core."""
    if not hasattr(os, "sched_setaffinity"):
        pytest.skip("this system gives no process a core of its own")
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    yield
    os.sched_setaffinity(0, before)


@pytest.mark.usefixtures("one_core")
def test_one_core_is_enough(run: Callable[..., Running]) -> None:
    assert events_of_an_answer(run())[-1]["type"] == "request.finished"

"""Calls below /v1/: their cost beside the native way, and the site's answers while many wait.

Starts the product as `make up` does, with one thread for the worker.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import httpx
import psutil

from benchmarks.product import Product, running
from benchmarks.rows import take_turns, write

PORT = "8768"
MODEL = "smollm2-135m-instruct"
NUM_CALLS, NUM_ROUNDS = 40, 5
NUM_WAITING = 64
MOST_BEYOND_MS, MOST_WAIT_MS = 3.0, 50.0
_MANY = "from webapp.usage.limits.models import Rule; Rule.objects.create(is_site=True, max_open=200)"
MESSAGES = [{"role": "user", "content": "Write a very long story about a river."}]


@dataclass(frozen=True)
class Door:
    """A server that speaks OpenAI's API, and the process that answers."""

    address: str
    key: str
    pid: int

    def client(self) -> httpx.Client:
        headers = {"Authorization": f"Bearer {self.key}"}
        return httpx.Client(base_url=self.address, headers=headers, timeout=300, trust_env=False)


def run() -> list[dict[str, Any]]:
    with opened(PORT) as door:
        return [_beyond_native(door), _waiting(door)]


@contextmanager
def opened(port: str, settings: dict[str, str] | None = None) -> Iterator[Door]:
    """The started product, where a user may have many requests open. It stops afterwards."""
    with running(port, {"SIGHTGLASS_THREADS": "1"} | (settings or {})) as product:
        product.manage("shell", "--no-imports", "-c", _MANY)
        yield Door(f"http://127.0.0.1:{port}", _key(product), _web_pid(product))


def _key(product: Product) -> str:
    return product.manage("create_key", "admin", "--name", "benchmark").split()[-1]


def _web_pid(product: Product) -> int:
    children = psutil.Process(product.pid).children(recursive=True)
    return next(child.pid for child in children if "webapp.serve" in child.cmdline())


def _beyond_native(door: Door) -> dict[str, Any]:
    """From a call until the request is on its way: in the background below /v1/, and by a message of the site's own."""
    with door.client() as client:
        sides = {"v1": lambda: _median_ms(client, _respond), "native": lambda: _median_ms(client, _say)}
        samples = take_turns(sides, NUM_ROUNDS)
    beyond = [mine - native for mine, native in zip(samples["v1"], samples["native"], strict=True)]
    low, middle, high = statistics.quantiles(beyond, n=4)
    native_ms = statistics.median(samples["native"])
    note = f"the native way takes {native_ms:.1f} ms"
    return _row(
        "A call below /v1/ until its request is on its way, beyond the native way",
        middle,
        MOST_BEYOND_MS,
        note,
        (low, high),
    )


def _median_ms(client: httpx.Client, call: Callable[[httpx.Client], str]) -> float:
    times = []
    for _ in range(NUM_CALLS):
        start = time.perf_counter()
        request_id = call(client)
        times.append(1000 * (time.perf_counter() - start))
        _wait_for_end(client, request_id)
    return statistics.median(times)


def _respond(client: httpx.Client) -> str:
    body = {"model": MODEL, "input": "Say hello.", "background": True, "max_output_tokens": 1}
    answer = client.post("/v1/responses", json=body).raise_for_status()
    return answer.headers["Sightglass-Trace"].rpartition("/")[2]


def _say(client: httpx.Client) -> str:
    conversation = client.post("/api/conversations", json={}).raise_for_status().json()["id"]
    body = {"text": "Say hello.", "params": {"max_tokens": 1}}
    answer = client.post(f"/api/conversations/{conversation}/messages", json=body).raise_for_status()
    return str(answer.json()["assistant_message"]["request_id"])


def _wait_for_end(client: httpx.Client, request_id: str) -> None:
    with client.stream("GET", f"/api/requests/{request_id}/events") as stream:
        for _ in stream.iter_lines():
            pass


def _waiting(door: Door) -> dict[str, Any]:
    """The site's answers while many calls wait for theirs."""
    with door.client() as client, ThreadPoolExecutor(NUM_WAITING) as pool:
        calls = [pool.submit(_answer, door) for _ in range(NUM_WAITING)]
        times = [_look_ms(client, calls) for _ in range(NUM_CALLS)]
        num_open = sum(not call.done() for call in calls)
        for call in calls:
            call.result()
    low, middle, high = statistics.quantiles(times, n=4)
    name = f"The site's answer to a page's call while {NUM_WAITING} calls wait"
    return _row(name, middle, MOST_WAIT_MS, f"{num_open} still waited at the end", (low, high))


def _answer(door: Door) -> None:
    with door.client() as client:
        body = {"model": MODEL, "messages": MESSAGES, "max_completion_tokens": 128}
        client.post("/v1/chat/completions", json=body).raise_for_status()


def _look_ms(client: httpx.Client, calls: list[Future[None]]) -> float:
    """While calls wait."""
    assert not all(call.done() for call in calls), "the calls ended too soon"
    start = time.perf_counter()
    client.get("/api/conversations").raise_for_status()
    took_ms = 1000 * (time.perf_counter() - start)
    time.sleep(0.05)
    return took_ms


def _row(name: str, value: float, target: float, note: str, spread: tuple[float, float]) -> dict[str, Any]:
    return {
        "name": name,
        "ours": round(value, 1),
        "peer": None,
        "ratio": None,
        "target": f"<= {target:g} ms",
        "unit": "ms",
        "spread": f"{spread[0]:.1f} to {spread[1]:.1f}",
        "note": note,
    }


if __name__ == "__main__":
    write("front_door", run())

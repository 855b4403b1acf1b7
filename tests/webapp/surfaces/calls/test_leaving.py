"""A client that goes away while its call begins leaves no request behind."""

from __future__ import annotations

import asyncio
import threading
from contextlib import suppress

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User

from inference.eventlog.clock import unix_us
from inference.eventlog.event_log import Fenced
from inference.protocol.events import AnyEvent, RequestCancelled, RequestFailed, TextReleased
from inference.protocol.request import SamplingParams
from tests.webapp.registered import CONFIGURED
from webapp.ground.context.assemble import SourceMessage
from webapp.ground.gateway.idempotency import Key
from webapp.lifecycle.start import Arrival
from webapp.requests import services
from webapp.requests.models import Request
from webapp.surfaces.calls.call import Begun, Call, begin
from webapp.surfaces.calls.relay import Lost, attended, relay

pytestmark = pytest.mark.django_db(transaction=True)
CALL = Call(CONFIGURED, (SourceMessage("user", "Hi", "api:messages[0]", "user"),), (SamplingParams(seed=1),))


class Slow:
    """A beginning that waits until it may go on."""

    def __init__(self, user: User) -> None:
        self._user = user
        self.has_entered = asyncio.Event()
        self.may_go_on = threading.Event()
        self._loop = asyncio.get_running_loop()

    def begin(self) -> Begun:
        self._loop.call_soon_threadsafe(self.has_entered.set)
        assert self.may_go_on.wait(60)
        return call(self._user)


def call(user: User) -> Begun:
    arrival = Arrival(received_unix_us=unix_us(), surface="anthropic")
    return begin(CALL, user.pk, arrival, Key(user.pk, "k", "d"))


async def leave(user: User) -> Request:
    """Go away while the call begins. Returns its request."""
    slow = Slow(user)
    waiting = asyncio.create_task(attended(slow.begin))
    await slow.has_entered.wait()
    waiting.cancel()
    slow.may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    return await Request.objects.aget()


async def test_a_request_that_begins_after_its_client_left_is_stopped(redis_client: object) -> None:
    user = await User.objects.acreate(username="alice")
    assert (await leave(user)).status == "stopped"


async def test_a_repeat_that_leaves_does_not_stop_the_first_call(redis_client: object) -> None:
    user = await User.objects.acreate(username="alice")
    await sync_to_async(call)(user)
    assert (await leave(user)).status == "queued"


async def test_a_stream_that_is_never_read_stops_its_request(
    redis_client: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A client that leaves while the answer is on its way through the middleware: the answer is dropped."""
    monkeypatch.setattr("webapp.surfaces.calls.relay.UNREAD_S", 0.2)
    user = await User.objects.acreate(username="alice")
    (request,) = (await sync_to_async(call)(user)).requests
    source = relay([request])
    await anext(source)
    with suppress(Fenced):  # it is stopped
        for number in range(400):  # at most a page of them is read together
            event = TextReleased(at=number, text="a", num_tokens=number + 1)
            await sync_to_async(services.event_log().append)(request.pk, [event], request.attempt)
    async with asyncio.timeout(60):
        while not any(isinstance(event, RequestCancelled) for event in logged(request)):
            await asyncio.sleep(0.05)
    last = [each async for each in source if each][-1]
    assert isinstance(last.events[-1], RequestFailed)
    assert (await Request.objects.aget()).status == "stopped"


def logged(request: Request) -> list[AnyEvent]:
    return [event for frame in services.event_log().read(request.pk) for event in frame.events]


async def test_a_call_ends_with_its_key(redis_client: object) -> None:
    user = await User.objects.acreate(username="alice")
    (request,) = (await sync_to_async(call)(user)).requests
    revoked = asyncio.Event()

    async def ending() -> None:
        await revoked.wait()

    source = relay([request], ending)
    await anext(source)
    revoked.set()
    with pytest.raises(Lost) as lost:
        await asyncio.wait_for(anext(source), 60)
    assert lost.value.code == "revoked_key"
    assert any(isinstance(event, RequestCancelled) for event in logged(request))


async def test_a_fault_while_the_events_are_read_ends_the_call(
    redis_client: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise RuntimeError("a fault")

    user = await User.objects.acreate(username="alice")
    (request,) = (await sync_to_async(call)(user)).requests
    monkeypatch.setattr("webapp.surfaces.calls.relay.batches", broken)
    with pytest.raises(Lost):
        await asyncio.wait_for(anext(relay([request])), 60)

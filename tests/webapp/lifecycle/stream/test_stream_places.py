"""A user's places for streams come back from each stream, however it ends."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from asgiref.sync import sync_to_async
from django.contrib.auth.models import User
from django.contrib.sessions.backends.db import SessionStore
from django.http.response import HttpResponseBase
from django.test import AsyncRequestFactory

from tests.webapp.traces.export.test_exports import FRAMES, import_, signed_in
from webapp.lifecycle.stream.places import MAX_STREAMS, Places, TooManyStreams
from webapp.lifecycle.stream.sse import events
from webapp.traces.file.jsonfile import encode_json


def test_a_place_that_is_left_twice_is_given_back_once() -> None:
    places = Places()
    kept = [places.take(1) for _ in range(MAX_STREAMS)]
    for _ in range(2):
        kept[0].leave()
    places.take(1)
    with pytest.raises(TooManyStreams):
        held = [places.take(1) for _ in range(2)]
        assert held


def test_a_place_of_which_nothing_is_left_is_given_back() -> None:
    places = Places()
    for _ in range(3 * MAX_STREAMS):
        places.take(1)
    held = [places.take(1) for _ in range(MAX_STREAMS)]
    with pytest.raises(TooManyStreams):
        places.take(1)
    places.take(2)
    assert held


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("is_closed", [False, True])
async def test_a_stream_that_is_never_read_gives_its_place_back(is_closed: bool) -> None:
    """A client that leaves while the answer is on its way through the middleware: the answer is dropped."""
    request_id, user = await _saved()
    gc.freeze()  # each pass below then looks at this test's own objects alone
    for _ in range(2 * MAX_STREAMS):
        response = await _opened(request_id, user)
        assert response.status_code == 200
        if is_closed:
            response.close()
        del response
        gc.collect()


@pytest.mark.django_db(transaction=True)
async def test_streams_that_are_kept_take_the_places() -> None:
    request_id, user = await _saved()
    kept = [await _opened(request_id, user) for _ in range(MAX_STREAMS)]
    assert (await _opened(request_id, user)).status_code == 429
    for response in kept:
        response.close()
    assert (await _opened(request_id, user)).status_code == 200


async def _saved() -> tuple[str, User]:
    """A saved request, and its user."""

    @sync_to_async
    def save() -> tuple[str, User]:
        answer = import_(signed_in("alice"), encode_json(FRAMES, {"title": "one"}))
        return answer.json()["requests"][0]["id"], User.objects.get(username="alice")

    return await save()


async def _opened(request_id: str, user: User) -> HttpResponseBase:
    async def signed_in_user() -> User:
        return user

    request: Any = AsyncRequestFactory().get(f"/api/requests/{request_id}/events")
    request.auser, request.session = signed_in_user, SessionStore()
    return await events(request, request_id)

"""Pictures lie ready for one attempt of one request, for a short time, and never fill the server's memory."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256

import pytest
import redis

from inference.eventlog.keys import pictures_key
from inference.eventlog.pictures import MemoryPictures, NoRoomForPictures, PictureGone, Pictures, RedisPictures

DATA = b"the bytes of a picture"
DIGEST = sha256(DATA).hexdigest()
REQUEST = "req_seen"


@pytest.fixture(params=["memory", "redis"])
def store(request: pytest.FixtureRequest) -> Pictures:
    if request.param == "memory":
        return MemoryPictures()
    return RedisPictures(request.getfixturevalue("redis_client"))


@pytest.fixture
def bounded(redis_client: redis.Redis) -> Iterator[redis.Redis]:
    """A server of which the pictures may take nothing."""
    redis_client.config_set("maxmemory", "1mb")
    yield redis_client
    redis_client.config_set("maxmemory", "0")


def test_an_attempt_takes_its_pictures_once(store: Pictures) -> None:
    for attempt in (1, 2):
        store.put(REQUEST, attempt, {DIGEST: DATA}, 60)
    assert store.take(REQUEST, 1, [DIGEST, DIGEST]) == {DIGEST: DATA}
    with pytest.raises(PictureGone, match="not at hand any more"):
        store.take(REQUEST, 1, [DIGEST])
    assert store.take(REQUEST, 2, [DIGEST]) == {DIGEST: DATA}


def test_a_picture_that_is_gone_or_another_is_not_taken(store: Pictures) -> None:
    store.put(REQUEST, 1, {DIGEST: DATA, "0" * 64: DATA}, 60)
    for digest in ("0" * 64, "1" * 64):
        with pytest.raises(PictureGone, match="not at hand any more"):
            store.take(REQUEST, 1, [digest])
    with pytest.raises(PictureGone):
        store.take("req_other", 1, [DIGEST])


def test_a_request_that_ends_leaves_none(store: Pictures) -> None:
    store.put(REQUEST, 1, {DIGEST: DATA}, 60)
    store.drop(REQUEST)
    with pytest.raises(PictureGone):
        store.take(REQUEST, 1, [DIGEST])


def test_they_expire_unless_the_request_still_waits(redis_client: redis.Redis) -> None:
    store = RedisPictures(redis_client)
    store.put(REQUEST, 1, {DIGEST: DATA}, 60)
    assert 0 < redis_client.ttl(pictures_key(REQUEST)) <= 60
    store.keep(REQUEST, 600)
    assert 60 < redis_client.ttl(pictures_key(REQUEST)) <= 600
    store.take(REQUEST, 1, [DIGEST])
    assert not redis_client.exists(pictures_key(REQUEST))


def test_a_server_that_is_half_full_takes_none(bounded: redis.Redis) -> None:
    with pytest.raises(NoRoomForPictures, match="Send it again"):
        RedisPictures(bounded).put(REQUEST, 1, {DIGEST: DATA}, 60)
    assert not bounded.exists(pictures_key(REQUEST))

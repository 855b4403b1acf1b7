"""What a worker tells of its prefix cache: the blocks of the one who asks, and what the next prompt then finds."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
import redis

from inference.eventlog.keys import peek_reply_key, peeks_key
from inference.protocol.peek import CachePeek, encode_peek
from inference.worker.peeks import answer_peeks


class Backend:
    """Knows the first 32 tokens of one principal's prompts."""

    def num_cached(self, ids: tuple[int, ...], principal: str, model: str) -> int | None:
        return None if model == "elsewhere" else 32 * (principal == "user:1") * (len(ids) > 32)


@pytest.fixture
def asked(redis_url: str, redis_client: redis.Redis) -> Iterator[redis.Redis]:
    is_stopping = threading.Event()
    arguments = (redis_url, "w", Backend(), is_stopping)
    thread = threading.Thread(target=answer_peeks, args=arguments)
    thread.start()
    yield redis_client
    is_stopping.set()
    thread.join(10)
    assert not thread.is_alive()


def ask(client: redis.Redis, principal: str, model: str = "m") -> bytes:
    reply_to = peek_reply_key(f"{principal}{model}")
    client.rpush(peeks_key("w"), encode_peek(CachePeek(reply_to, model, principal, tuple(range(40)))))
    answer = client.blpop([reply_to], timeout=10)
    assert answer is not None
    return bytes(answer[1])


def test_each_question_is_answered_for_the_one_who_asks(asked: redis.Redis) -> None:
    assert [ask(asked, "user:1"), ask(asked, "user:2"), ask(asked, "user:1", "elsewhere")] == [b"32", b"0", b""]


def test_what_cannot_be_read_stops_nothing(asked: redis.Redis) -> None:
    asked.rpush(peeks_key("w"), b"{}", b"\xff")
    assert ask(asked, "user:1") == b"32"

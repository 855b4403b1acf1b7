"""A generation goes to the worker that can begin it soonest, and never to one that cannot take it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

import msgspec
import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from inference.eventlog.keys import peeks_key, worker_key
from inference.protocol.peek import decode_peek
from inference.protocol.request import GenerationRequest, SamplingParams
from webapp.lifecycle.placement import is_served, num_places, place, unavailable
from webapp.lifecycle.worker_choice import Candidate, choose, worth_asking
from webapp.requests import services

MODEL, VERSION = "small", "v1"
LONG_S = 1000.0


def candidate(name: str, num_requests: int = 0, num_cached: int = 0, num_places: int = 8) -> Candidate:
    return Candidate(name, num_requests, num_places, num_cached)


candidates = st.lists(
    st.builds(
        candidate,
        st.text("abcdef", min_size=1, max_size=3),
        st.integers(0, 10),
        st.integers(0, 4000),
        st.integers(1, 10),
    ),
    max_size=12,
    unique_by=lambda each: each.name,
)


@given(candidates)
def test_the_chosen_worker_has_a_place_and_no_other_is_better_in_both(found: list[Candidate]) -> None:
    free = [each for each in found if each.num_requests < each.num_places]
    chosen = choose(found)
    assert (chosen is None) == (not free)
    if chosen is not None:
        assert chosen in free
        assert not any(each.num_requests < chosen.num_requests and each.num_cached > chosen.num_cached for each in free)


def test_a_cached_prompt_outweighs_a_few_requests_but_not_many() -> None:
    idle = candidate("idle", num_places=100)
    assert choose([idle, candidate("warm", 3, 1000, 100)]) == candidate("warm", 3, 1000, 100)
    assert choose([idle, candidate("warm", 40, 1000, 100)]) == idle


@given(candidates, st.lists(st.text("abcdef", min_size=1, max_size=3), max_size=6))
def test_few_workers_are_asked_the_principals_last_ones_and_the_least_loaded(
    found: list[Candidate], recent: list[str]
) -> None:
    asked = worth_asking(found, recent)
    assert len(asked) == len(set(asked)) == min(8, len(found))
    if found:
        assert min(found, key=lambda each: (each.num_requests, each.name)) in asked
    known = [name for name in dict.fromkeys(recent) if name in {each.name for each in found}]
    assert set(known[:4]) <= {each.name for each in asked}


def announce(client: redis.Redis, name: str, state: str = "ready", **fields: str) -> None:
    told = {"state": state, "model": MODEL, "tokenizer": VERSION, "num_places": "2", "message": "no such file"}
    client.hset(worker_key(name), mapping=told | fields)


def generation(request_id: str = "req_1") -> GenerationRequest:
    return GenerationRequest(
        request_id=request_id,
        attempt=1,
        model=MODEL,
        prompt_ids=tuple(range(1000)),
        params=SamplingParams(),
        accepted_unix_us=0,
        principal="user:1",
    )


@contextmanager
def answering(client: redis.Redis, cached: dict[str, int]) -> Iterator[None]:
    """Workers that answer each question about their caches, until the block's end."""
    is_over = threading.Event()

    def answer() -> None:
        while not is_over.is_set():
            asked = client.blpop([peeks_key(name) for name in cached], timeout=1)
            if asked is not None:
                name = asked[0].decode().removeprefix(peeks_key(""))
                client.rpush(decode_peek(asked[1]).reply_to, cached[name])

    thread = threading.Thread(target=answer)
    thread.start()
    yield
    is_over.set()
    thread.join()


def test_one_worker_takes_everything_from_its_models_queue(redis_client: redis.Redis) -> None:
    assert place(generation(), VERSION) == ""
    announce(redis_client, "one")
    assert place(generation(), VERSION) == ""


def test_of_two_workers_the_less_loaded_is_chosen_until_both_are_full(redis_client: redis.Redis) -> None:
    announce(redis_client, "one")
    announce(redis_client, "two")
    chosen = []
    for number in range(5):
        chosen.append(place(generation(), VERSION))
        services.leases().grant(f"req_{number}", 1, LONG_S, chosen[-1])
    assert chosen == ["one", "two", "one", "two", ""]
    services.leases().end("req_1")
    assert place(generation(), VERSION) == "two"


def test_the_worker_that_holds_the_prompt_is_chosen(redis_client: redis.Redis) -> None:
    announce(redis_client, "one")
    announce(redis_client, "two")
    services.leases().grant("req_0", 1, LONG_S, "two")
    with answering(redis_client, {"one": 0, "two": 900}):
        assert place(generation(), VERSION) == "two"


def test_calls_with_one_hint_prefer_the_worker_of_the_last(redis_client: redis.Redis) -> None:
    announce(redis_client, "one", num_places="9")
    announce(redis_client, "two", num_places="9")
    services.leases().grant("req_0", 1, LONG_S, "one")
    assert place(generation(), VERSION, "shelf") == "two"
    for number in range(1, 5):
        services.leases().grant(f"req_{number}", 1, LONG_S, "two")
    assert place(generation(), VERSION, "shelf") == "two"
    assert place(generation(), VERSION) == place(generation(), VERSION, "desk") == "one"
    services.leases().grant("req_5", 1, LONG_S, "two")
    services.leases().grant("req_6", 1, LONG_S, "two")
    assert place(generation(), VERSION, "shelf") == "one", "four requests more outweigh the hint"


def test_a_hint_of_another_principal_never_counts(redis_client: redis.Redis) -> None:
    announce(redis_client, "one", num_places="9")
    announce(redis_client, "two", num_places="9")
    services.leases().grant("req_0", 1, LONG_S, "one")
    assert place(generation(), VERSION, "shelf") == "two"
    services.leases().grant("req_1", 1, LONG_S, "two")
    services.leases().grant("req_2", 1, LONG_S, "two")
    other = msgspec.structs.replace(generation(), principal="user:2")
    assert place(other, VERSION, "shelf") == "one"


@pytest.mark.parametrize(
    "fields", [{"state": "draining"}, {"state": "loading"}, {"model": "large"}, {"tokenizer": "v2"}], ids=str
)
def test_a_worker_that_cannot_take_it_is_not_chosen(redis_client: redis.Redis, fields: dict[str, str]) -> None:
    announce(redis_client, "one")
    announce(redis_client, "two")
    announce(redis_client, "zero", **fields)
    assert place(generation(), VERSION) in ("one", "two")
    redis_client.delete(worker_key("one"), worker_key("two"))
    assert not is_served(MODEL, VERSION)


def test_a_model_that_no_worker_could_load_is_told_at_once(redis_client: redis.Redis) -> None:
    assert unavailable(MODEL, VERSION) is None
    announce(redis_client, "one", "failed")
    failure = unavailable(MODEL, VERSION)
    assert failure is not None and failure.code == "model_unavailable" and "no such file" in failure.message
    announce(redis_client, "two", "loading")
    assert unavailable(MODEL, VERSION) is None


def test_the_places_of_a_model_are_those_of_its_ready_workers(redis_client: redis.Redis) -> None:
    assert num_places(MODEL) is None
    announce(redis_client, "one")
    announce(redis_client, "two")
    announce(redis_client, "three", "draining")
    announce(redis_client, "four", model="large")
    assert num_places(MODEL) == 4

"""A saved trace comes back exactly, and a damaged or hostile file only raises TraceFileError."""

from __future__ import annotations

import contextlib
import hashlib
import tracemalloc
from typing import Any

import msgspec
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from inference.protocol.codec import encode_events
from inference.protocol.events import (
    Frame,
    ProcessorEffect,
    RequestFinished,
    TextReleased,
    TokenSampled,
)
from inference.protocol.request import Usage
from webapp.traces.file.archive import MAGIC, Packing, TraceFileError, decode, encode, unpacked
from webapp.traces.file.column_reader import from_columns
from webapp.traces.file.column_writer import to_columns
from webapp.traces.file.numbers import Numbers, pack


def token(position: int) -> TokenSampled:
    ids = tuple((position * 7919 + n * 104729) % 49152 for n in range(20))
    logits = tuple(round(20 - n * 0.37 - position % 7 * 0.1, 4) for n in range(20))
    return TokenSampled(
        at=position * 10_000,
        position=position,
        id=ids[0],
        piece=b" tok%d" % (ids[0] % 100),
        logprob=-0.1 * position,
        rank=1,
        entropy=1.5,
        u=None if position % 5 == 0 else (position * 0.137) % 1,
        low=0.0,
        high=0.25,
        log_normalizer=21.03125,
        candidate_ids=ids,
        candidate_logits=logits,
        candidate_pieces=tuple(b" tok%d" % (i % 100) for i in ids),
        processors=(
            ProcessorEffect(name="grammar", num_candidates=9, mass=0.5, log_normalizer=2.5, masked=ids[2:4]),
            ProcessorEffect(name="penalties", num_candidates=9, mass=1.0, log_normalizer=2.5, logits=logits[:2]),
            ProcessorEffect(name="temperature", num_candidates=49152, mass=1.0, log_normalizer=29.5),
            ProcessorEffect(name="top_p", num_candidates=17, mass=0.9, log_normalizer=29.4),
            ProcessorEffect(name="typical_p", num_candidates=7, mass=0.8, log_normalizer=29.2, first=1),
        ),
        step_us=9_000 + position,
        batch_size=1,
    )


def frames(num_tokens: int) -> list[Frame]:
    result, seq = [], 1
    for position in range(num_tokens):
        result.append(Frame(seq=seq, events=(token(position), TextReleased(at=5, text="é🙂", num_tokens=position + 1))))
        seq += 2
    return [*result, Frame(seq=seq, events=(RequestFinished(at=9, finish_reason="stop", usage=Usage(output=3)),))]


UNKNOWN = dict.fromkeys(
    ("logprob", "rank", "entropy", "u", "low", "high", "log_normalizer", "processors", "step_us", "batch_size"), None
)


@pytest.mark.parametrize("num_unknown", [1, 4])
def test_what_is_unknown_stays_unknown(num_unknown: int) -> None:
    """A server elsewhere does not tell everything, and a reader must not take its silence for a number."""
    tokens = [token(0), token(1), token(2), token(3)]
    tokens[:num_unknown] = [msgspec.structs.replace(each, is_shown=False, **UNKNOWN) for each in tokens[:num_unknown]]
    log = [Frame(seq=1, events=tuple(tokens))]
    assert decode(encode(log, {})).frames == log


@pytest.mark.parametrize("num_tokens", [0, 1, 2, 60])
def test_round_trip_is_exact(num_tokens: int) -> None:
    archive = decode(encode(frames(num_tokens), {"title": "T"}))
    assert archive.frames == frames(num_tokens)
    assert archive.summary == {"title": "T"}


def some_tokens() -> st.SearchStrategy[list[TokenSampled]]:
    """Tokens of any shape that the protocol allows: unknown values, no processors or other ones, ids in any number."""
    floats = st.none() | st.floats(-1e3, 1e3) | st.floats(0, 1).map(lambda value: round(value, 7))
    ids = st.lists(st.integers(0, 400), max_size=5, unique=True)
    processor = st.builds(
        ProcessorEffect,
        name=st.sampled_from(["penalties", "temperature", "top_p"]),
        num_candidates=st.integers(0, 9),
        mass=st.floats(0, 1),
        log_normalizer=st.floats(-50, 50),
        logits=st.none() | st.lists(st.floats(-50, 50), max_size=6).map(tuple),
        first=st.integers(0, 3),
        masked=st.lists(st.integers(0, 400), max_size=2).map(tuple),
    )

    def build(chosen: int, listed: list[int], **rest: Any) -> TokenSampled:
        return msgspec.structs.replace(
            token(0),
            id=chosen,
            piece=b"%d" % chosen,
            candidate_ids=tuple(listed),
            candidate_logits=tuple(round(value * -0.3141, 4) for value in listed),
            candidate_pieces=tuple(b"%d" % each for each in listed),
            **rest,
        )

    return st.lists(
        st.builds(
            build,
            st.integers(0, 400),
            ids,
            at=st.integers(-(10**6), 10**9),
            position=st.integers(0, 10**4),
            is_special=st.booleans(),
            is_shown=st.booleans(),
            processors=st.none() | st.lists(processor, max_size=3).map(tuple),
            rank=st.none() | st.integers(1, 2**31),
            step_us=st.none() | st.integers(0, 2**31),
            **dict.fromkeys(("logprob", "entropy", "u", "low", "high", "log_normalizer"), floats),
        ),
        max_size=6,
    )


@given(some_tokens())
def test_any_tokens_come_back_as_they_were(tokens: list[TokenSampled]) -> None:
    back = from_columns(to_columns(tokens))
    assert back == tokens
    assert encode_events(back) == encode_events(tokens)  # the log's digests are of these bytes


def test_a_field_that_came_after_this_form_is_kept() -> None:
    columns = to_columns([token(0), token(1)])
    columns = msgspec.structs.replace(columns, later=b'[[1,{"unheard_of":1}]]')
    assert from_columns(columns) == [token(0), token(1)]


def test_a_token_with_twenty_candidates_takes_few_bytes() -> None:
    assert len(encode(frames(500), {})) / 500 < 120


@given(num_tokens=st.integers(0, 4), num_first=st.integers(0, 5))
def test_tokens_packed_before_the_end_was_known_are_the_same_file(num_tokens: int, num_first: int) -> None:
    whole = frames(num_tokens)
    packing = Packing(whole[:num_first])
    assert packing.has_tokens_of(whole) == (num_first >= num_tokens)
    if packing.has_tokens_of(whole):
        assert unpacked(packing.finish(whole, {"title": "T"})) == unpacked(encode(whole, {"title": "T"}))


@given(st.data())
def test_any_damage_is_noticed(data: st.DataObject) -> None:
    whole = encode(frames(3), {})
    if data.draw(st.booleans()):
        broken = whole[: data.draw(st.integers(0, len(whole) - 1))]
    else:
        at = data.draw(st.integers(0, len(whole) - 1))
        broken = whole[:at] + bytes([whole[at] ^ data.draw(st.integers(1, 255))]) + whole[at + 1 :]
    with pytest.raises(TraceFileError):
        decode(broken)


def signed(document: object) -> bytes:
    body = zstandard.compress(msgspec.msgpack.encode(document))
    return MAGIC + hashlib.sha256(body).digest() + body


@given(
    st.fixed_dictionaries(
        {
            "version": st.just(1),
            "summary": st.just({}),
            "sizes": st.lists(st.integers(-3, 5), max_size=4),
            "is_token": st.binary(max_size=6),
            "events": st.sampled_from([b"[]", b"{}", b"[1]", b'[{"type":"text.released"}]']),
            "columns": st.dictionaries(
                st.sampled_from(["num_tokens", "candidates", "chains"]), st.integers(-(2**40), 2**40) | st.binary()
            ),
        }
    )
)
def test_a_hostile_file_with_a_good_checksum_is_refused(document: dict[str, object]) -> None:
    with pytest.raises(TraceFileError):
        decode(signed(document))


def test_a_file_of_another_version_is_named() -> None:
    packed = msgspec.msgpack.decode(unpacked(encode(frames(1), {})))
    with pytest.raises(TraceFileError, match="version 99"):
        decode(signed(packed | {"version": 99}))


def test_a_file_that_unpacks_without_end_is_stopped() -> None:
    body = zstandard.compress(b"\0" * (300 << 20))
    with pytest.raises(TraceFileError, match="32 MiB"):
        decode(MAGIC + hashlib.sha256(body).digest() + body)


def parts() -> dict[str, Any]:
    """Of a good file."""
    packed = unpacked(encode(frames(3), {}))
    return msgspec.msgpack.decode(packed, type=dict[str, Any])


@given(st.data())
def test_good_columns_with_one_changed_are_read_or_refused(data: st.DataObject) -> None:
    document = parts()
    columns = document["columns"]
    name = data.draw(st.sampled_from([*columns, *columns["fields"]]))
    holder = columns if name in columns else columns["fields"]
    lists = st.tuples(
        st.sampled_from([0, 1, 1e4, -1]), st.integers(0, 15), st.integers(-1, 9), st.binary(max_size=70)
    ).map(list)
    holder[name] = data.draw(st.integers(-9, 9) | st.binary(max_size=4) | lists | st.just([[]]))
    with contextlib.suppress(TraceFileError):
        decode(signed(document))


MANY = 20 << 20
ZEROS, LARGE = Numbers(1, 0, 0, b""), pack([1 << 50] * 3)


@pytest.mark.parametrize(
    "change",
    [
        {"sizes": msgspec.Raw(b"\xdd" + MANY.to_bytes(4) + b"\x01" * MANY)},
        {"summary": msgspec.Raw(b"\x81\xa1a\xdd" + MANY.to_bytes(4) + b"\x90" * MANY)},
        {"fields": msgspec.Raw(b"\xdf" + MANY.to_bytes(4) + b"\x90" * MANY)},
        {"chains": msgspec.Raw(b"\xdd" + MANY.to_bytes(4) + b"\x90" * MANY)},
        {"more": msgspec.Raw(b"\xdd" + MANY.to_bytes(4) + b"\x90" * MANY)},
        {"is_token": b"\1" * MANY},
        {"pieces": bytes(MANY)},
        {"num_tokens": 1 << 40},
        {"num_ids": 1 << 40, "ids": ZEROS, "num_bytes": ZEROS},
        {"num_candidates": LARGE, "candidates": ZEROS, "candidate_logits": ZEROS},
        {"num_bytes": pack([1 << 50] * 60)},
        {"later": b"[" + b"[0,{}]," * (1 << 20) + b"[0,{}]]"},
        {"chain": pack([-1] * 60)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_a_small_file_cannot_become_many_objects(change: dict[str, Any]) -> None:
    document = parts()
    part = document if change.keys() & document.keys() else document["columns"]
    file = signed(document | change if part is document else document | {"columns": part | change})
    assert len(file) < 10_000
    tracemalloc.start()
    with pytest.raises(TraceFileError):
        decode(file)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 << 20

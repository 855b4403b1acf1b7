"""Chunks come whole however the network cuts them, and no bytes do more than raise BackendError."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import AsyncIterator
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from inference.backends.chunks import choices, decode_chunk, payloads
from inference.backends.errors import BackendError
from inference.backends.server import Vocabulary
from inference.backends.token_table import TokenTable, hidden_bytes
from inference.tokenization.tokenizer import Tokenizer
from inference.worker.settings import read_settings

LINES = [b'{"a":"\xc2\x85"}', b'{"b":"\xe2\x80\xa8"}', b"{}"]
STREAM = (
    b": hello\n\n" + b"".join(b"event: x\r\ndata: %s\r\n\r\n" % line for line in LINES) + b"data: [DONE]\n\ndata: 9\n\n"
)


def read(parts: list[bytes]) -> list[bytes]:
    async def source() -> AsyncIterator[bytes]:
        for part in parts:
            yield part

    async def collect() -> list[bytes]:
        return [data async for data in payloads(source())]

    return asyncio.run(collect())


@pytest.mark.slow
@given(st.sets(st.integers(0, len(STREAM))))
def test_however_it_is_cut(cuts: set[int]) -> None:
    bounds = [0, *sorted(cuts), len(STREAM)]
    assert read([STREAM[start:end] for start, end in itertools.pairwise(bounds)]) == LINES


NAMES = st.sampled_from(["choices", "logprobs", "content", "tokens", "token_logprobs", "top_logprobs", "id", "token"])
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=4),
    max_leaves=12,
)


@given(JSON | st.binary())
def test_whatever_a_server_sends_it_is_a_chunk_or_an_error(document: object) -> None:
    try:
        data = document if isinstance(document, bytes) else msgspec.json.encode(document)
        list(choices(decode_chunk(data, None), lambda _text: None))
    except BackendError as error:
        assert error.code == "server_failed"
    except OverflowError:  # of msgspec's encoder
        pass


@given(st.data())
def test_hidden_bytes_are_split_into_as_many_tokens_as_the_server_counted(
    tokenizer: Tokenizer, data: st.DataObject
) -> None:
    table = table_of(tokenizer)
    ids = data.draw(st.lists(st.integers(100, tokenizer.vocab_size - 1), min_size=1, max_size=4))
    whole = b"".join(tokenizer.piece(token) for token in ids)
    found = table.split(whole, len(ids))
    assert found is not None and len(found) == len(ids)
    assert b"".join(tokenizer.piece(token) for token in found) == whole
    fewest = table.split(whole, None)
    assert fewest is not None and len(fewest) <= len(ids)


class Letters:
    """Tokens of one to three letters."""

    pieces = [b"a", b"aa", b"aaa", b"b", b"ab", b""]  # noqa: RUF012
    vocab_size = len(pieces)

    def piece(self, token: int) -> bytes:
        return self.pieces[token]

    def is_special(self, token: int) -> bool:
        return False

    def encode(self, text: str) -> list[int]:
        raise NotImplementedError


def all_splits(data: bytes) -> list[list[int]]:
    """Every way, long tokens first."""
    if not data:
        return [[]]
    order = sorted(range(5), key=lambda token: -len(Letters.pieces[token]))
    firsts = [token for token in order if data.startswith(Letters.pieces[token])]
    return [[first, *rest] for first in firsts for rest in all_splits(data[len(Letters.pieces[first]) :])]


@given(st.text("abc", max_size=9), st.none() | st.integers(-1, 10))
def test_of_all_splits_the_one_with_the_longest_tokens_first(text: str, count: int | None) -> None:
    splits = all_splits(text.encode())
    wanted = min(map(len, splits), default=0) if count is None else count
    expected = next((split for split in splits if len(split) == wanted), None)
    assert TokenTable(Letters()).split(text.encode(), count) == expected


class Counted(bytes):
    """Bytes that count how often a part of them is looked at."""

    num_looks = 0

    def __getitem__(self, index: Any) -> Any:
        Counted.num_looks += 1
        return super().__getitem__(index)


@pytest.mark.parametrize("count", [None, 30, 700, 999])
@pytest.mark.parametrize("end", [b"", b"x"])
def test_splitting_takes_work_in_proportion_to_the_bytes(count: int | None, end: bytes) -> None:
    Counted.num_looks = 0
    found = TokenTable(Letters()).split(Counted(b"a" * 1000 + end), count)
    assert (found is None) == (bool(end) or count == 30)
    assert Counted.num_looks < 10 * 1000


def test_more_bytes_than_can_be_kept_back_are_not_looked_into() -> None:
    Counted.num_looks = 0
    assert TokenTable(Letters()).split(Counted(b"a" * (1 << 20)), None) is None
    assert Counted.num_looks == 0


_tables: dict[int, TokenTable] = {}


def table_of(vocabulary: Vocabulary) -> TokenTable:
    return _tables.setdefault(id(vocabulary), TokenTable(vocabulary))


def test_what_a_text_has_before_its_token() -> None:
    assert hidden_bytes("🐍", b"\x8d") == b"\xf0\x9f\x90"
    assert hidden_bytes(" the", b" the") == b""
    assert hidden_bytes("\ufffd", b"\x80") == b""


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SIGHTGLASS_BACKEND_URL", "http://sk-secret@host"),
        ("SIGHTGLASS_BACKEND_URL", "ftp://host"),
        ("SIGHTGLASS_BACKEND_URL", "http://host:sk-secret"),
        ("SIGHTGLASS_BACKEND_URL", "http://host/?key=sk-secret"),
        ("SIGHTGLASS_BACKEND_KEY", "sk-secret\nX-Other: 1"),
    ],
)
def test_a_setting_that_cannot_be_used_is_named_and_not_quoted(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(SystemExit, match=name) as caught:
        read_settings()
    assert "sk-secret" not in str(caught.value)

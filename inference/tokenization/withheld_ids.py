"""Ids by which an answer with rewritten text goes on: the replacement's, as the withheld tokens' are not recorded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from inference.protocol.events import TokenSampled


def known_ids(tokens: Sequence[TokenSampled], encode: Callable[[str], Sequence[int]]) -> tuple[int, ...]:
    """Return one id per token. encode: a text's ids. Replacements are cut, or their last id is repeated."""
    ids: list[int] = []
    for is_withheld, run in groupby(tokens, key=lambda token: token.is_withheld):
        own = list(run)
        ids += _replaced(own, encode) if is_withheld else [token.id for token in own]
    return tuple(ids)


def _replaced(run: Sequence[TokenSampled], encode: Callable[[str], Sequence[int]]) -> list[int]:
    ids = list(encode(b"".join(token.piece for token in run).decode("utf-8", "replace")))
    return (ids + ids[-1:] * len(run))[: len(run)]

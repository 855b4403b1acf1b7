"""Two traces beside each other: where their settings, prompts, answers and figures part. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from inference.protocol.events import Frame, PromptTokenized, TokenSampled, first
from inference.protocol.request import SamplingParams
from webapp.traces.explain.brief import Told, tell

_NUM_SHOWN = 8
"""Tokens shown of each side, from the first difference on."""


class Parting(msgspec.Struct, frozen=True):
    """The place where two rows of tokens part."""

    num_common: int
    """Equal tokens before it."""
    is_equal: bool
    a: str
    """The tokens of the first trace from there on."""
    b: str


class Difference(msgspec.Struct, frozen=True):
    """The differences of two traces."""

    is_same_tokenizer: bool | None
    """False: ids mean other words, so tokens are not compared. None: a trace has no prompt."""
    params: dict[str, tuple[Any, Any]]
    """The sampling parameters that differ."""
    prompt: Parting | None
    answer: Parting | None
    figures: dict[str, tuple[int | None, int | None]]
    """Times in µs, counts of tokens, and costs in billionths."""


def differ(a: Sequence[Frame], b: Sequence[Frame]) -> Difference:
    """Compare two traces. Raises NotTold."""
    first_told, second_told = tell(a), tell(b)
    figures = _figures(second_told)
    prompts = [_prompt(frames) for frames in (a, b)]
    known = [prompt for prompt in prompts if prompt is not None]
    is_same = known[0].version == known[1].version if len(known) == 2 else None
    return Difference(
        is_same_tokenizer=is_same,
        params=_params(first_told.params, second_told.params),
        prompt=_parting(*(list(zip(each.ids, each.pieces, strict=True)) for each in known)) if is_same else None,
        answer=_parting(_answer(a), _answer(b)) if is_same else None,
        figures={name: (one, figures[name]) for name, one in _figures(first_told).items()},
    )


def _prompt(frames: Sequence[Frame]) -> PromptTokenized | None:
    return first((event for frame in frames for event in frame.events), PromptTokenized)


def _answer(frames: Sequence[Frame]) -> list[tuple[int, bytes]]:
    events = (event for frame in frames for event in frame.events)
    return [(event.id, event.piece) for event in events if isinstance(event, TokenSampled)]


def _parting(a: Sequence[tuple[int, bytes]], b: Sequence[tuple[int, bytes]]) -> Parting:
    shorter = min(len(a), len(b))
    at = next((index for index in range(shorter) if a[index][0] != b[index][0]), shorter)
    return Parting(at, at == len(a) == len(b), _words(a[at:]), _words(b[at:]))


def _words(tokens: Sequence[tuple[int, bytes]]) -> str:
    return b"".join(piece for _, piece in tokens[:_NUM_SHOWN]).decode("utf-8", "backslashreplace")


def _params(a: SamplingParams, b: SamplingParams) -> dict[str, tuple[Any, Any]]:
    names = SamplingParams.__struct_fields__
    return {
        name: (msgspec.to_builtins(getattr(a, name)), msgspec.to_builtins(getattr(b, name)))
        for name in names
        if getattr(a, name) != getattr(b, name)
    }


def _figures(told: Told) -> dict[str, int | None]:
    usage = told.usage
    return {
        "first_text_us": told.first_text_us,
        "duration_us": told.duration_us,
        "uncached_input": usage.uncached_input,
        "cache_read": usage.cache_read,
        "cache_write": usage.cache_write_5m + usage.cache_write_1h,
        "output": usage.output,
        "cost_nano": told.cost_nano,
    }

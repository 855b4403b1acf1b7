"""The first form of token.sampled events in saved traces; it is still read and no longer written."""

from __future__ import annotations

import math
from typing import Annotated, Any

import msgspec
import numpy as np

from inference.protocol.events import ProcessorEffect, TokenSampled
from webapp.traces.file.columns import MAX_EVENTS

_MAX_PIECES = 1 << 18
_MAX_STAGES = 16
_SCALARS = {
    "at": "i8",
    "position": "i4",
    "id": "u4",
    "is_special": "?",
    "logprob": "f8",
    "rank": "u4",
    "entropy": "f8",
    "low": "f8",
    "high": "f8",
    "log_normalizer": "f8",
    "step_us": "u4",
    "batch_size": "u2",
}
_OPTIONAL = ("logprob", "rank", "entropy", "low", "high", "log_normalizer", "step_us", "batch_size")
"""Fields whose value may be unknown, which is packed as NaN or the integer's maximum: no known value is that."""
_LOGIT_SCALE = 10_000
"""Raw logits are recorded with four decimals, so integers at this scale hold them exactly."""


class _Stage(msgspec.Struct, array_like=True):
    """A ProcessorEffect's fields in their order, the lists packed; older traces lack the last two."""

    name: str
    num_candidates: int
    mass: float
    log_normalizer: float
    logits: bytes | None
    first: int = 0
    masked: bytes = b""


class TokenColumns(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """Columns with one entry per token; bytes are packed numbers."""

    num_tokens: int
    at: bytes
    position: bytes
    id: bytes
    is_special: bytes
    logprob: bytes
    rank: bytes
    entropy: bytes
    low: bytes
    high: bytes
    log_normalizer: bytes
    step_us: bytes
    batch_size: bytes
    hidden: Annotated[list[int], msgspec.Meta(max_length=MAX_EVENTS)] = []
    """Indices of the tokens that a remote server did not show."""
    u: Annotated[list[float | None], msgspec.Meta(max_length=MAX_EVENTS)]
    counts: bytes
    """Number of candidates per token; the next two columns have one entry per candidate."""
    candidate_ids: bytes
    candidate_logits: bytes
    stages: Annotated[
        list[Annotated[list[_Stage], msgspec.Meta(max_length=_MAX_STAGES)] | None], msgspec.Meta(max_length=MAX_EVENTS)
    ]
    pieces: Annotated[dict[int, bytes], msgspec.Meta(max_length=_MAX_PIECES)]


def _unknown(kind: str) -> float:
    return math.nan if kind.startswith("f") else int(np.iinfo(kind).max)


def _known(name: str, kind: str, values: list[Any]) -> list[Any]:
    if name not in _OPTIONAL:
        return values
    return [None if value != value or value == _unknown(kind) else value for value in values]


def from_columns(columns: TokenColumns) -> list[TokenSampled]:
    """Return the events. Raises KeyError, ValueError or TypeError on columns that do not fit together."""
    num_tokens = columns.num_tokens
    scalars = {
        name: _known(name, kind, _unpack(getattr(columns, name), kind, num_tokens)) for name, kind in _SCALARS.items()
    }
    if not num_tokens == len(columns.counts) // 2 == len(columns.u) == len(columns.stages):
        raise ValueError("columns of different lengths")
    counts = np.frombuffer(columns.counts, "u2").tolist()
    ids = _unpack(columns.candidate_ids, "u4", sum(counts))
    logits = [value / _LOGIT_SCALE for value in _unpack(columns.candidate_logits, "i4", sum(counts))]
    pieces, hidden, tokens, start = columns.pieces, set(columns.hidden), [], 0
    for index, count in enumerate(counts):
        span = slice(start, start + count)
        start += count
        values = {name: column[index] for name, column in scalars.items()}
        tokens.append(
            TokenSampled(
                **values,
                u=columns.u[index],
                is_shown=index not in hidden,
                piece=pieces[values["id"]],
                candidate_ids=tuple(ids[span]),
                candidate_logits=tuple(logits[span]),
                candidate_pieces=tuple(pieces[token] for token in ids[span]),
                processors=_unpack_stages(columns.stages[index]),
            )
        )
    return tokens


def _unpack_stages(stages: list[_Stage] | None) -> tuple[ProcessorEffect, ...] | None:
    return None if stages is None else tuple(_unpack_stage(stage) for stage in stages)


def _unpack_stage(stage: _Stage) -> ProcessorEffect:
    logits = None if stage.logits is None else np.frombuffer(stage.logits, "<f8").tolist()
    masked = np.frombuffer(stage.masked, "<u4").tolist()
    return msgspec.convert(msgspec.structs.asdict(stage) | {"logits": logits, "masked": masked}, ProcessorEffect)


def _unpack(data: bytes, kind: str, count: int) -> list[Any]:
    form = np.dtype("<" + kind if kind != "?" else kind)
    if len(data) != count * form.itemsize:
        raise ValueError("columns of different lengths")
    planes = np.frombuffer(data, "u1").reshape(form.itemsize, count).T
    values: list[Any] = np.ascontiguousarray(planes).view(form).reshape(-1).tolist()
    return values

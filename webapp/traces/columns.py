"""token.sampled events as columns: one array per field instead of one object per token.

Neighbouring values of one field are alike and compress well; token bytes are kept once per id. Knows nothing of files.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np

from inference.protocol.events import SamplerStage, TokenSampled

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
_LOGIT_SCALE = 10_000
"""Raw logits are recorded with four decimals, so as integers of this scale they survive exactly."""


def to_columns(tokens: Sequence[TokenSampled]) -> dict[str, Any]:
    """Plain values for msgpack."""
    counts = np.array([len(token.candidate_ids) for token in tokens], "u2")
    logits = np.array([value for token in tokens for value in token.candidate_logits], "f8")
    columns = {name: _pack([getattr(token, name) for token in tokens], kind) for name, kind in _SCALARS.items()}
    return columns | {
        "num_tokens": len(tokens),
        "u": [token.u for token in tokens],
        "counts": counts.tobytes(),
        "candidate_ids": _pack([i for token in tokens for i in token.candidate_ids], "u4"),
        "candidate_logits": _pack(np.rint(logits * _LOGIT_SCALE).astype("i4").tolist(), "i4"),
        "stages": [[list(msgspec.structs.astuple(stage)) for stage in token.stages] for token in tokens],
        "pieces": _pieces(tokens),
    }


def _pieces(tokens: Sequence[TokenSampled]) -> dict[int, bytes]:
    table = {token.id: token.piece for token in tokens}
    for token in tokens:
        table |= dict(zip(token.candidate_ids, token.candidate_pieces, strict=True))
    return table


def from_columns(columns: dict[str, Any]) -> list[TokenSampled]:
    """Inverse of to_columns. Raises KeyError, ValueError or TypeError on columns that do not fit together."""
    num_tokens = columns["num_tokens"]
    scalars = {name: _unpack(columns[name], kind, num_tokens) for name, kind in _SCALARS.items()}
    counts = np.frombuffer(columns["counts"], "u2").tolist()
    ids = _unpack(columns["candidate_ids"], "u4", sum(counts))
    logits = [value / _LOGIT_SCALE for value in _unpack(columns["candidate_logits"], "i4", sum(counts))]
    pieces, tokens, start = columns["pieces"], [], 0
    for index, count in enumerate(counts):
        span = slice(start, start + count)
        start += count
        stages = [dict(zip(SamplerStage.__struct_fields__, stage, strict=True)) for stage in columns["stages"][index]]
        values = {name: column[index] for name, column in scalars.items()}
        tokens.append(
            TokenSampled(
                **values,
                u=columns["u"][index],
                piece=pieces[values["id"]],
                candidate_ids=tuple(ids[span]),
                candidate_logits=tuple(logits[span]),
                candidate_pieces=tuple(pieces[token] for token in ids[span]),
                stages=msgspec.convert(stages, tuple[SamplerStage, ...]),
            )
        )
    if len(tokens) != num_tokens:
        raise ValueError("columns of different lengths")
    return tokens


def _pack(values: Sequence[Any], kind: str) -> bytes:
    """Little-endian, split into byte planes: high bytes of neighbours are alike."""
    array = np.array(values, "<" + kind if kind != "?" else kind)
    return array.view("u1").reshape(len(values), -1).T.tobytes() if len(values) else b""


def _unpack(data: bytes, kind: str, count: int) -> list[Any]:
    form = np.dtype("<" + kind if kind != "?" else kind)
    if len(data) != count * form.itemsize:
        raise ValueError("columns of different lengths")
    planes = np.frombuffer(data, "u1").reshape(form.itemsize, count).T
    values: list[Any] = np.ascontiguousarray(planes).view(form).reshape(-1).tolist()
    return values

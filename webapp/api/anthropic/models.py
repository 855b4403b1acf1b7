"""The models in Anthropic's form. Pure: rows in, structs out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

_UNKNOWN = "1970-01-01T00:00:00Z"
"""Anthropic's mark for a release whose day is not known."""


@dataclass(frozen=True)
class OfferedModel:
    """A model that is offered, as the site knows it."""

    id: str
    name: str
    """For people; the id where it has no other."""
    window: int | None = None
    """Tokens of prompt and answer together; None: not known."""


class Model(msgspec.Struct, tag="model"):
    id: str
    display_name: str
    created_at: str = _UNKNOWN
    lifecycle: str = "active"
    max_input_tokens: int | None = None
    max_tokens: int | None = None


class ModelList(msgspec.Struct):
    data: list[Model]
    has_more: bool
    first_id: str | None
    last_id: str | None


def anthropic_models(rows: Sequence[OfferedModel]) -> ModelList:
    """Return all models as one page."""
    data = [anthropic_model(row) for row in rows]
    return ModelList(data, False, data[0].id if data else None, data[-1].id if data else None)


def anthropic_model(row: OfferedModel) -> Model:
    return Model(row.id, row.name, max_input_tokens=row.window, max_tokens=row.window)

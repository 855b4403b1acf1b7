"""Models in Anthropic's form. Pure: rows in, structs out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from webapp.registry.models import RegisteredModel


class Model(msgspec.Struct):
    id: str
    display_name: str
    created_at: str
    """RFC 3339; the epoch where it is not known."""
    type: str = "model"


class ModelList(msgspec.Struct):
    data: list[Model]
    first_id: str | None
    last_id: str | None
    has_more: bool = False


def anthropic_models(rows: Sequence[RegisteredModel]) -> ModelList:
    data = [anthropic_model(row) for row in rows]
    return ModelList(data, data[0].id if data else None, data[-1].id if data else None)


def anthropic_model(row: RegisteredModel) -> Model:
    created = row.checked_at or datetime.fromtimestamp(0, UTC)
    return Model(row.pk, row.pk, created.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ"))

"""Refuses unknown parameters of an address's query. Knows nothing of their purpose."""

from __future__ import annotations

from difflib import get_close_matches

import msgspec
from django.http import HttpRequest

from webapp.ground.gateway.errors import ApiError
from webapp.ground.gateway.structs import Query


def check_names(request: HttpRequest, kind: type[Query] | None) -> None:
    """Refuse the first parameter that the operation does not take. kind: None: it takes none. Raises ApiError."""
    if kind is not None and kind.takes_others:
        return
    known = [each.encode_name for each in msgspec.structs.fields(kind)] if kind is not None else []
    for name in request.GET:
        if name not in known:
            raise ApiError(400, "invalid", _in_words(name, known), name)


def _in_words(name: str, known: list[str]) -> str:
    if not known:
        return f"There is no parameter {name}; this address takes none. Remove it."
    near = get_close_matches(name, known, 1)
    advice = f"Do you mean {near[0]}?" if near else "Remove it or check its spelling."
    return f"There is no parameter {name}. {advice} This address takes: {', '.join(known)}."

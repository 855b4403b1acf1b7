"""The values that a place in a struct takes, where they are few. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from msgspec import inspect

_STEP = re.compile(r"\.?([^.\[\]]+)|\[[^\]]*\]")


def choices_at(kind: object, path: str) -> list[str]:
    """Return the texts that the place takes; none: it takes any, or no text.

    kind: the type of the whole. path: as msgspec tells it, such as `messages[0].role`.
    """
    found = [_type_info(kind)]
    for step in _STEP.finditer(path):
        found = [inner for each in found for inner in _inner(each, step[1])]
    return list(dict.fromkeys(text for each in found for text in _texts(each)))


@cache
def _type_info(kind: object) -> inspect.Type:
    """It takes some milliseconds, and a client may send wrong bodies all day."""
    return inspect.type_info(kind)


def _inner(found: inspect.Type, name: str | None) -> Iterator[inspect.Type]:
    """Yield the types of a field of this name, or of the elements where name is None."""
    match found:
        case inspect.UnionType():
            for each in found.types:
                yield from _inner(each, name)
        case inspect.StructType() if name is not None:
            if name == found.tag_field:
                yield inspect.LiteralType((found.tag,))
            yield from (field.type for field in found.fields if field.encode_name == name)
        case inspect.DictType():
            yield found.value_type
        case inspect.VarTupleType() | inspect.ListType() if name is None:
            yield found.item_type


def _texts(found: inspect.Type) -> Iterator[str]:
    match found:
        case inspect.UnionType():
            for each in found.types:
                yield from _texts(each)
        case inspect.LiteralType():
            yield from (value for value in found.values if isinstance(value, str))

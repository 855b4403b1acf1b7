"""Base classes of the structs that JSON operations read and answer with."""

from __future__ import annotations

import msgspec


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """Base of a JSON body, and of each struct inside it."""


class Query(msgspec.Struct):
    """Base of an address's query and of a posted form. Unknown fields are ignored."""


class Result(msgspec.Struct):
    """Base of a JSON answer, and of each struct inside it."""

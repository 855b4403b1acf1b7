"""Base classes of the structs that JSON operations read and answer with."""

from __future__ import annotations

from typing import ClassVar

import msgspec


class Body(msgspec.Struct, forbid_unknown_fields=True):
    """Base of a JSON body, and of each struct inside it."""


class Query(msgspec.Struct):
    """Base of an address's query and of a posted form. Operations refuse other parameters of a query."""

    takes_others: ClassVar[bool] = False
    """True: the operation itself judges the other parameters."""


class Result(msgspec.Struct):
    """Base of a JSON answer, and of each struct inside it."""

"""What a view of an API family takes and answers with, for the OpenAPI document. Changes nothing that a view does."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec

Function = TypeVar("Function", bound=Callable[..., Any])


@dataclass(frozen=True)
class Described:
    """The structs of one view."""

    answers: type[msgspec.Struct] | None = None
    """None: any JSON."""
    takes: type[msgspec.Struct] | None = None
    """Of its body; None: it takes none."""
    query: type[msgspec.Struct] | None = None
    is_streamed: bool = False
    """True: a client may ask for server-sent events in place of the answer."""
    begins_work: bool = False
    """True: it takes an Idempotency-Key."""
    is_lines: bool = False
    """True: it answers with JSON Lines, each one such struct."""


def described(
    answers: type[msgspec.Struct],
    takes: type[msgspec.Struct] | None = None,
    query: type[msgspec.Struct] | None = None,
    is_streamed: bool = False,
    begins_work: bool = False,
    is_lines: bool = False,
) -> Callable[[Function], Function]:
    """Describe a view: `@described(ChatCompletion, takes=ChatBody)`."""

    def note(function: Function) -> Function:
        function.described = Described(answers, takes, query, is_streamed, begins_work, is_lines)  # type: ignore[attr-defined]
        return function

    return note


def description_of(function: Callable[..., Any]) -> Described:
    found: Described = getattr(function, "described", Described())
    return found

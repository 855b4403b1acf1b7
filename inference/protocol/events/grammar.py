"""Events of a grammar: the tokens that a constraint left. Knows nothing of the constraint."""

from __future__ import annotations

from inference.protocol.events.base import Event


class GrammarMasked(Event, frozen=True, kw_only=True, tag="grammar.masked"):
    """The constraint removed tokens before sampling."""

    position: int
    num_allowed: int
    duration_us: int

"""The display of an event, declared beside its struct and generated to TypeScript. Knows nothing of drawing."""

from __future__ import annotations

from typing import Literal

import msgspec

Lane = Literal[
    "browser",
    "gateway",
    "safety",
    "context",
    "tokens",
    "queue",
    "prefill",
    "sampling",
    "tools",
    "release",
    "bill",
]
"""A lane of the timeline."""
Scene = Literal["gateway", "context", "tokens", "safety", "queue", "cache", "prefill", "sampling", "release", "bill"]
"""A step of the journey."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The display of one type of event. Code that needs more than its fields stands in frontend/src/trace."""

    lane: Lane = "sampling"
    """The timeline's lane, on the page and in exports."""
    is_mark: bool = False
    """True: the page's timeline marks the moment. An export marks every event that has no duration."""
    label: str = ""
    """The event in a few words, with its fields: `{by}` is a value, `{num_blocks|block}` a number of blocks,
    `{ids|guess|guesses}` a number of guesses with their plural, `{limit.name}` a part of a field. Empty: its type."""
    meaning: str = ""
    """The tooltip: one sentence on the event's meaning. Empty: its lane's."""
    scene: Scene | None = None
    """The journey's step that the event belongs to. None: the step before continues."""
    replay_ms: int = 0
    """Time for which a replay shows the event, in milliseconds. 0: together with the next."""

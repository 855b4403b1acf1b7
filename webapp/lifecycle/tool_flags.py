"""The feature flags with which a request that repeats another one has the tools of the other, and its speculation."""

from __future__ import annotations

from collections.abc import Sequence

from webapp.requests.rounds import approved_of, flags_of, speculation_of, tools_of
from webapp.tools import catalog


def again(features: Sequence[str], may_ask: bool = True) -> tuple[str, ...]:
    """The flags of the same tools, and of speculation.

    A tool that waited for its user waits again, also where it would not today.
    may_ask: False where the new request cannot ask its user, so that such calls are declined.
    """
    names, before = sorted(tools_of(features)), approved_of(features)
    tools = flags_of(names, [name for name in names if name in before or _waits(name)], may_ask)
    return tools + speculation_of(features)


def _waits(name: str) -> bool:
    tool = catalog.find(name)
    return tool is not None and tool.needs_approval

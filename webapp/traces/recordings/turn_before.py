"""Finds the turn that another one goes on from: that with the same messages at its beginning. Pure: knows no rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from webapp.ground.context.assemble import SourceMessage
from webapp.requests.input import Messages


def goes_on_from(now: Messages, earlier: Iterable[tuple[str, Messages]]) -> str | None:
    """Return the id of the earlier turn that begins with the most of the same messages; None: none has one.

    Among equals it is the one with the fewest other messages, then the first. earlier: the newest first. The system's
    messages do not count: a program may change them from turn to turn.
    """
    best, most = None, (0, 0)
    for request_id, messages in earlier:
        said = _said(messages)
        num = _num_common(_said(now), said)
        if num and (num, num - len(said)) > most:
            best, most = request_id, (num, num - len(said))
    return best


def _said(messages: Messages) -> list[SourceMessage]:
    return [each for each in messages if each.role != "system"]


def _num_common(now: Sequence[SourceMessage], before: Sequence[SourceMessage]) -> int:
    pairs = enumerate(zip(map(_key, now), map(_key, before), strict=False))
    return next((at for at, (one, other) in pairs if one != other), min(len(now), len(before)))


def _key(message: SourceMessage) -> tuple[str, str]:
    return message.role, message.content

"""Compares a prompt with the turn before's. Events in, an event out: knows nothing of databases or requests."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher

from inference.protocol.events import (
    AnyEvent,
    ContextAssembled,
    ContextCompared,
    Dropped,
    PromptTokenized,
    RequestAccepted,
    Segment,
    SegmentChange,
    first,
)

MAX_DIFFERING = 8
"""Tokens shown of each side, from the first difference on."""
_EXCERPT_CHARS = 200
_MOST_IN_ORDER = 200
"""Parts of a prompt that a matcher compares in their order, within a tenth of a second."""
_Key = tuple[str, str]
_NOT_IN_THIS_BRANCH = "this branch of the conversation does not contain it"


def compare(
    request_id: str, now: Sequence[AnyEvent], before: Sequence[AnyEvent], answer: Sequence[tuple[int, bytes]]
) -> ContextCompared | None:
    """Compare the prompt of `now` with the prompt of `before` and its answer.

    None when one of them has no prompt, or when another tokenizer made it: the ids then mean other words.
    request_id: the earlier request's. The event holds that request's texts, which only its own trace may keep. The
    event's `at` is 0: the caller sets it on append.
    """
    prompt, earlier = first(now, PromptTokenized), first(before, PromptTokenized)
    accepted = first(before, RequestAccepted)
    if prompt is None or earlier is None or accepted is None or prompt.version != earlier.version:
        return None
    old_ids = [*earlier.ids, *(token for token, _ in answer)]
    num_common = _num_common(prompt.ids, old_ids)
    end = num_common + MAX_DIFFERING
    here, there = prompt.pieces[num_common:end], tuple(_old_pieces(prompt, earlier, answer)[num_common:end])
    changes = _changes(first(now, ContextAssembled), first(before, ContextAssembled))
    return ContextCompared(
        at=0,
        request_id=request_id,
        model=accepted.model,
        num_prompt_tokens=len(earlier.ids),
        num_answer_tokens=len(answer),
        num_common_tokens=num_common,
        here=here,
        there=there,
        is_number=is_number(here, there),
        added=changes.added,
        changed=changes.changed,
        removed=changes.removed,
    )


def is_number(here: Sequence[bytes], there: Sequence[bytes]) -> bool:
    """True if both sides continue with a digit, as in a date or a time of day."""
    return all(pieces and pieces[0].lstrip()[:1].isdigit() for pieces in (here, there))


def _num_common(ids: Sequence[int], others: Sequence[int]) -> int:
    pairs = zip(ids, others, strict=False)
    return next((index for index, (one, other) in enumerate(pairs) if one != other), min(len(ids), len(others)))


def _old_pieces(prompt: PromptTokenized, earlier: PromptTokenized, answer: Sequence[tuple[int, bytes]]) -> list[bytes]:
    """The earlier tokens' pieces. A generated control token has no bytes; its name comes from a prompt that has it."""
    names = dict(zip((*earlier.ids, *prompt.ids), (*earlier.pieces, *prompt.pieces), strict=True))
    return [*earlier.pieces, *(piece or names.get(token, b"") for token, piece in answer)]


@dataclass(frozen=True)
class _Changes:
    added: tuple[int, ...] = ()
    changed: tuple[SegmentChange, ...] = ()
    removed: tuple[Dropped, ...] = ()


def _changes(now: ContextAssembled | None, before: ContextAssembled | None) -> _Changes:
    if now is None or before is None:
        return _Changes()
    gone, new = _differing(_keys(before.segments), _keys(now.segments))
    old = defaultdict[str, deque[Segment]](deque)
    for index in gone:
        if (segment := before.segments[index]).source != "template":
            old[segment.source].append(segment)
    changed = {index: parts.popleft() for index in new if (parts := old[now.segments[index].source])}
    reasons = {dropped.source: dropped.reason for dropped in (*now.dropped, *now.summarised)}
    return _Changes(
        tuple(index for index in new if index not in changed),
        tuple(
            SegmentChange(index=index, num_tokens=segment.end - segment.start, text=segment.text[:_EXCERPT_CHARS])
            for index, segment in changed.items()
        ),
        tuple(
            _removed(segment, reasons.get(segment.source, _NOT_IN_THIS_BRANCH))
            for parts in old.values()
            for segment in parts
        ),
    )


def _differing(before: Sequence[_Key], now: Sequence[_Key]) -> tuple[list[int], list[int]]:
    """Return the indexes of the parts before that are gone, and of those now that are new.

    Many parts are compared without their order: a matcher takes cubic time for the template's parts, which are alike.
    """
    if max(len(before), len(now)) > _MOST_IN_ORDER:
        kept = set(before) & set(now)
        return [i for i, key in enumerate(before) if key not in kept], [
            i for i, key in enumerate(now) if key not in kept
        ]
    codes = SequenceMatcher(None, before, now, autojunk=False).get_opcodes()
    differing = [code for code in codes if code[0] != "equal"]
    return (
        [index for _, start, end, _, _ in differing for index in range(start, end)],
        [index for _, _, _, start, end in differing for index in range(start, end)],
    )


def _keys(segments: Iterable[Segment]) -> list[_Key]:
    """Keys without the segment's kind: a message stays the same when it becomes history."""
    return [(segment.source, segment.text) for segment in segments]


def _removed(segment: Segment, reason: str) -> Dropped:
    return Dropped(
        kind=segment.kind,
        source=segment.source,
        num_tokens=segment.end - segment.start,
        reason=reason,
        text=segment.text[:_EXCERPT_CHARS],
    )

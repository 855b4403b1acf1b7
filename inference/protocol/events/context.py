"""Events of the context: the prompt's segments, and their change since the request before. Knows nothing of budgets."""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import Event, Value
from inference.protocol.events.shown import Shown

SegmentKind = Literal["system", "tools", "memory", "summary", "history", "attachment", "user", "template"]


class Segment(Value, frozen=True, kw_only=True):
    """A stretch of the prompt with one origin."""

    kind: SegmentKind
    role: str
    """The chat role it is rendered under; empty for the template's own tokens."""
    start: int
    """First token, as an index into the prompt."""
    end: int
    """One past the last token."""
    source: str
    """Where it came from, e.g. `message:<id>`, `conversation:system`, `template`."""
    text: str
    """The text of this segment, exactly as the model received it."""

    kept: ClassVar = "kind role start end"


class Dropped(Value, frozen=True, kw_only=True):
    """Something that did not go into the prompt."""

    kind: SegmentKind
    source: str
    num_tokens: int
    reason: str
    text: str = ""
    """Its beginning, at most 200 characters."""

    kept: ClassVar = "kind num_tokens reason"


class ContextAssembled(Event, frozen=True, kw_only=True, tag="context.assembled"):
    """The prompt, segment by segment, in order and without gaps."""

    window: int
    """The model's context window, in tokens."""
    reserved_output: int
    """Tokens kept free for the answer."""
    num_prompt_tokens: int
    segments: tuple[Segment, ...]
    dropped: tuple[Dropped, ...] = ()
    duration_us: int

    kept: ClassVar = "window reserved_output num_prompt_tokens duration_us"
    shown: ClassVar = Shown(lane="context", scene="window", replay_ms=2200)


class SegmentChange(Value, frozen=True, kw_only=True):
    """A segment whose text is another than in the request before."""

    index: int
    """Of the segment in this request's context."""
    num_tokens: int
    """What it had before."""
    text: str = ""
    """What it was before: its beginning, at most 200 characters; never in a trace."""

    kept: ClassVar = "index num_tokens"


class ContextCompared(Event, frozen=True, kw_only=True, tag="context.compared"):
    """The prompt was compared with the request before it in its conversation, once this one had ended.

    A trace tells of that request's texts only where they differ: the texts themselves (`there`, and those of `changed`
    and `removed`) are read from its own trace when they are asked for, and are gone with it.
    """

    request_id: str
    """The request before: the newest that was settled when this one was accepted."""
    model: str
    num_prompt_tokens: int
    num_answer_tokens: int
    num_common_tokens: int
    """From the start: this prompt's tokens that are those of the prompt before and of the answer after it."""
    here: tuple[bytes, ...]
    """From the first difference on, at most 8 of this prompt's tokens, as bytes (base64 in JSON)."""
    there: tuple[bytes, ...] = ()
    """What stood there before; never in a trace."""
    is_number: bool | None = None
    """Whether a number stands at the first difference on both sides, as of a date; None: not recorded."""
    added: tuple[int, ...]
    """Segments that were not in the prompt before, as indices into this request's context."""
    changed: tuple[SegmentChange, ...]
    """Segments of the same source with another text. All that are neither added nor changed were kept."""
    removed: tuple[Dropped, ...]
    """What the prompt before had and this one has not; the template's own apart."""

    kept: ClassVar = "model num_prompt_tokens num_answer_tokens num_common_tokens is_number added"
    shown: ClassVar = Shown(lane="context")

"""Events of the context: the prompt's segments, and their change since the request before. Knows nothing of budgets."""

from __future__ import annotations

from typing import ClassVar, Literal

from inference.protocol.events.base import Event, GenerationEvent, Value
from inference.protocol.events.shown import Shown
from inference.protocol.request import KeptTTL

SegmentKind = Literal[
    "system", "tools", "memory", "summary", "history", "attachment", "image", "user", "result", "template"
]


class Image(Value, frozen=True, kw_only=True):
    """A picture of the prompt, by reference. No event and no trace has its bytes."""

    sha256: str
    """Of the bytes that the model's server gets."""
    media_type: str
    num_bytes: int
    width: int
    """In pixels, as its header says."""
    height: int

    unredacted: ClassVar = "num_bytes width height"


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
    """Origin of the text, e.g. `message:<id>`, `conversation:system`, `template`."""
    text: str
    """The text of this segment, exactly as the model received it."""
    breakpoint: KeptTTL | None = None
    """The client wants the prompt up to this segment's end kept in the cache for this time. None: no breakpoint."""
    image: Image | None = None
    """The picture that stands here. It has no token of this tokenizer, and the text is empty. None: it is a text."""

    unredacted: ClassVar = "kind role start end breakpoint image"


class Dropped(Value, frozen=True, kw_only=True):
    """A text that the prompt leaves out."""

    kind: SegmentKind
    source: str
    num_tokens: int
    reason: str
    text: str = ""
    """Beginning of the text, at most 200 characters."""

    unredacted: ClassVar = "kind num_tokens reason"


class ContextAssembled(GenerationEvent, frozen=True, kw_only=True, tag="context.assembled"):
    """The prompt, segment by segment, in order and without gaps."""

    window: int
    """The model's context window, in tokens."""
    reserved_output: int
    """Tokens kept free for the answer."""
    num_prompt_tokens: int
    segments: tuple[Segment, ...]
    dropped: tuple[Dropped, ...] = ()
    summarised: tuple[Dropped, ...] = ()
    """Messages in whose place the prompt has a summary."""
    duration_us: int

    unredacted: ClassVar = "window reserved_output num_prompt_tokens duration_us"
    shown: ClassVar = Shown(lane="context", scene="context", replay_ms=2200)


class SegmentChange(Value, frozen=True, kw_only=True):
    """A segment whose text differs from that in the request before."""

    index: int
    """Index of the segment in this request's context."""
    num_tokens: int
    """Tokens of the segment in the request before."""
    text: str = ""
    """Beginning of the segment's text in the request before, at most 200 characters; never in a trace."""

    unredacted: ClassVar = "index num_tokens"


class ContextCompared(Event, frozen=True, kw_only=True, tag="context.compared"):
    """The prompt's comparison with the request before it in its conversation, made once this request had ended.

    A trace says only where the texts differ. The earlier texts (`there`, and those of `changed` and `removed`) are read
    from the earlier request's own trace on demand. They are gone once that trace is gone.
    """

    request_id: str
    """The request before: the newest one settled when this one was accepted."""
    model: str
    num_prompt_tokens: int
    num_answer_tokens: int
    num_common_tokens: int
    """Tokens from this prompt's start that equal the prompt before followed by its answer."""
    here: tuple[bytes, ...]
    """At most 8 of this prompt's tokens from the first difference on, as bytes (base64 in JSON)."""
    there: tuple[bytes, ...] = ()
    """The earlier request's tokens at the same place; never in a trace."""
    is_number: bool | None = None
    """True: both sides have a number at the first difference, as in a date. None: not recorded."""
    added: tuple[int, ...]
    """Segments that were not in the prompt before, as indices into this request's context."""
    changed: tuple[SegmentChange, ...]
    """Segments of the same source with another text. Segments neither added nor changed are as before."""
    removed: tuple[Dropped, ...]
    """Segments of the prompt before that this one lacks, except the template's own."""

    unredacted: ClassVar = "model num_prompt_tokens num_answer_tokens num_common_tokens is_number added"
    shown: ClassVar = Shown(lane="context")

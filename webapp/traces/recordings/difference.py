"""The difference of a prompt from the one before, in figures. Pure: events in, a value out. Holds no text."""

from __future__ import annotations

from inference.protocol.events import ContextAssembled, ContextCompared, Segment, SegmentKind
from webapp.ground.gateway.structs import Result


class PromptPlace(Result):
    """The part of a prompt in which a token stands."""

    kind: SegmentKind
    role: str
    source: str
    position: int
    """The token's place in the prompt, counted from 0."""


class PromptDifference(Result):
    """The difference of a prompt from the prompt and answer before it."""

    before: str
    """The earlier request."""
    num_prompt_tokens: int
    num_common_tokens: int
    """Tokens that both begin with. A cache can have at most these."""
    differs_at: PromptPlace | None
    """The first token that differs; null: the prompt is a beginning of what was before, or its parts are not known."""
    num_added: int
    """Parts that the prompt before had not, without the template's own."""
    num_changed: int
    num_removed: int


def difference_of(compared: ContextCompared, context: ContextAssembled | None) -> PromptDifference:
    segments = context.segments if context is not None else ()
    added = [index for index in compared.added if index < len(segments) and segments[index].kind != "template"]
    return PromptDifference(
        before=compared.request_id,
        num_prompt_tokens=context.num_prompt_tokens if context is not None else compared.num_common_tokens,
        num_common_tokens=compared.num_common_tokens,
        differs_at=place_of(segments, compared.num_common_tokens),
        num_added=len(added),
        num_changed=len(compared.changed),
        num_removed=len([each for each in compared.removed if each.kind != "template"]),
    )


def place_of(segments: tuple[Segment, ...], position: int) -> PromptPlace | None:
    """The part that holds the token at this place; None: there is none."""
    found = next((each for each in segments if each.start <= position < each.end), None)
    return None if found is None else PromptPlace(found.kind, found.role, found.source, position)

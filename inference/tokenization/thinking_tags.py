"""Finds the tags between which a model thinks, in its own chat template. Knows no model by name.

A template that names the tag at the thinking's end takes thoughts out of former answers, or writes the tag itself. So
its model was trained to think.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from inference.protocol.thinking import ThinkingTags
from inference.tokenization.gguf_metadata import Metadata

_PAIRS = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("<thought>", "</thought>"),
    ("<reasoning>", "</reasoning>"),
    ("<seed:think>", "</seed:think>"),
    ("[THINK]", "[/THINK]"),
)
"""Pairs that published chat templates use."""


def find_tags(metadata: Metadata, encode: Callable[[str], Sequence[int]]) -> ThinkingTags | None:
    """Return the tags; None: the model does not think. encode: the ids of plain text."""
    template = metadata.chat_template or ""
    pair = next((pair for pair in _PAIRS if pair[1] in template and _begins(pair[0], template, metadata)), None)
    if pair is None:
        return None
    begin, end = pair
    return ThinkingTags(
        begin=begin, end=end, begin_ids=_ids(begin, metadata, encode), end_ids=_ids(end, metadata, encode)
    )


def _begins(tag: str, template: str, metadata: Metadata) -> bool:
    return tag in template or tag in metadata.tokens


def _ids(tag: str, metadata: Metadata, encode: Callable[[str], Sequence[int]]) -> tuple[int, ...]:
    """A token of its own, also where it is a control token, or the tokens of the text."""
    return (metadata.tokens.index(tag),) if tag in metadata.tokens else tuple(encode(tag))

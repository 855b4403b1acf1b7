"""OpenAI's fields of prompt caching as breakpoints of the prompt. Raises ApiError for what the cache cannot promise.

A lifetime is the least that a client wants. The cache promises 5 minutes or an hour, so 30 minutes become an hour.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

from inference.protocol.events import Image
from inference.protocol.request import KeptTTL
from webapp.api.openai.shapes import CacheBreakpoint, CacheOptions, CacheTtl
from webapp.ground.context.assemble import SourceMessage
from webapp.ground.gateway.errors import ApiError
from webapp.requests.input import Messages

MAX_BREAKPOINTS = 4
"""As OpenAI's: of more, the latest count. The one at the prompt's end is among them."""
_KEPT: KeptTTL = "1h"


class Text(NamedTuple):
    """A text of a message."""

    text: str
    breakpoint: KeptTTL | None = None
    """The prompt up to its end is kept for this time."""
    image: Image | None = None
    """The picture that stands in the text's place."""

    @property
    def has_content(self) -> bool:
        return bool(self.text) or self.image is not None


def breakpoint_of(given: CacheBreakpoint | None, place: str) -> KeptTTL | None:
    """The time for which a part's end is kept. Raises ApiError."""
    if given is None:
        return None
    _check_ttl(given.ttl, f"{place}.prompt_cache_breakpoint.ttl")
    return _KEPT


def with_breakpoints(messages: Messages, options: CacheOptions | None) -> Messages:
    """The messages with as many of their breakpoints as count, and with that of the options. Raises ApiError."""
    marked = [index for index, each in enumerate(messages) if each.breakpoint is not None]
    if options is not None:
        _check(options, has_breakpoints=bool(marked))
    ends = options is not None and options.mode != "explicit"
    kept = {*marked[-(MAX_BREAKPOINTS - ends) :], *([len(messages) - 1] if ends else [])}
    return tuple(_marked(each, index in kept) for index, each in enumerate(messages))


def applied(options: CacheOptions | None) -> dict[str, str] | None:
    """What a response says of the options that it came with."""
    return None if options is None else {"mode": options.mode or "implicit", "ttl": options.ttl or "30m"}


def _marked(message: SourceMessage, is_kept: bool) -> SourceMessage:
    return replace(message, breakpoint=_KEPT if is_kept else None)


def _check(options: CacheOptions, has_breakpoints: bool) -> None:
    _check_ttl(options.ttl, "prompt_cache_options.ttl")
    if options.mode == "explicit" and not has_breakpoints:
        _refuse(
            "mode", "explicit without a prompt_cache_breakpoint would turn the cache off, which cannot be done here"
        )
    if options.prewarm:
        _refuse("prewarm", "a prompt is read ahead by POST /v1/messages with max_tokens 0 alone")
    if options.comparison_response_id is not None:
        _refuse("comparison_response_id", "the Cache panel of the request's trace says why a breakpoint missed")


def _check_ttl(ttl: CacheTtl | None, place: str) -> None:
    if ttl == "12h":
        message = f"{place}: the cache keeps a prompt's beginning for an hour at most, and promises no 12h. Use 30m."
        raise ApiError(400, "unsupported_value", message, place)


def _refuse(name: str, why: str) -> None:
    place = f"prompt_cache_options.{name}"
    raise ApiError(400, "unsupported_value", f"{place}: {why}.", place)

"""Takes a brought text apart by a model's own template and tokenizer. Computes; knows nothing of HTTP."""

from __future__ import annotations

from dataclasses import dataclass

from redis.exceptions import RedisError

from inference.protocol.events import Segment
from inference.protocol.tool_calls import BEGIN
from webapp.api.surfaces.bring.answers import answer_of
from webapp.api.surfaces.bring.difference import difference
from webapp.api.surfaces.bring.parse import read
from webapp.api.surfaces.bring.prompt import BroughtPrompt, check_fits, place_of, prompt_of
from webapp.api.surfaces.bring.schema import BroughtBody, BroughtPair, BroughtPart, BroughtProblem, TakenApart, What
from webapp.ground.context.tools import is_result
from webapp.ground.gateway.errors import ApiError
from webapp.requests.failure import CannotPrepare
from webapp.requests.input import PlainInput
from webapp.requests.snapshots import latest
from webapp.surfaces.bring.kinds import Body, Malformed, Unknown, recognised
from webapp.surfaces.bring.prefix import prefix_of

MAX_PARTS = 1000
_PART_CHARS = 2000


@dataclass(frozen=True)
class Apart:
    """A text taken apart, and what the cache is asked about."""

    shown: TakenApart
    ids: tuple[int, ...] = ()
    """Tokens of a prompt that fits the model's window."""


def apart(given: BroughtPair, user_id: int) -> Apart:
    """Raises ApiError, Malformed, Unknown, UnknownModel, CannotPrepare."""
    found = recognised(given.text)
    if not isinstance(found, Body):
        return Apart(TakenApart(answer=answer_of(found, given.model)))
    prompt = prompt_of(read(given.text, given.kind or found.kind, given.model, user_id))
    block_size = block_size_of(prompt.brought.model)
    body = _body(prompt, found, block_size)
    if given.before is not None and (before := _before(given, given.before, prompt, user_id)) is not None:
        body.difference = difference(prompt, before, body.prefix)
    ids = tuple(prompt.assembled.prompt.ids)
    return Apart(TakenApart(body=body), ids if len(ids) <= body.window else ())


def _before(given: BroughtPair, text: str, prompt: BroughtPrompt, user_id: int) -> BroughtPrompt | None:
    """The turn before as the same model reads it; None: it is no request's body. Raises ApiError, CannotPrepare."""
    try:
        found = recognised(text)
        if not isinstance(found, Body):
            return None
        return prompt_of(read(text, given.before_kind or found.kind, prompt.brought.model, user_id))
    except (ApiError, Malformed, Unknown) as error:
        raise ApiError(400, "invalid", f"The turn before cannot be read: {error}", "before") from None


def _body(prompt: BroughtPrompt, found: Body, block_size: int | None) -> BroughtBody:
    brought, segments = prompt.brought, prompt.assembled.segments
    num_tokens = len(prompt.assembled.prompt.ids)
    is_plain = isinstance(brought.prompt, PlainInput)
    return BroughtBody(
        kind=brought.kind,
        is_certain=found.is_certain,
        named_model=brought.named_model,
        model=brought.model,
        num_tokens=num_tokens,
        window=prompt.assembled.window,
        parts=[_part(each, is_plain) for each in segments[:MAX_PARTS]],
        num_parts=len(segments),
        num_prompts=brought.num_prompts,
        prefix=None if block_size is None else prefix_of(segments, num_tokens, block_size),
        num_cached=None,
        difference=None,
        problem=_problem(prompt),
    )


def _part(segment: Segment, is_plain: bool) -> BroughtPart:
    return BroughtPart(
        what="text" if is_plain and segment.kind != "template" else _what(segment),
        role=segment.role,
        place=place_of(segment.source),
        start=segment.start,
        end=segment.end,
        text=segment.text[:_PART_CHARS],
        num_chars=len(segment.text),
        breakpoint=segment.breakpoint,
    )


def _what(segment: Segment) -> What:
    text = segment.text.lstrip()
    match segment.kind:
        case "template" | "tools" | "system":
            return segment.kind
        case "user" if segment.role == "user" and not is_result(text):
            return "new message"
    if segment.role == "user" and is_result(text):
        return "tool result"
    return "tool call" if segment.role == "assistant" and text.startswith(BEGIN) else "message"


def _problem(prompt: BroughtPrompt) -> BroughtProblem | None:
    """Why the model here would refuse the body; None: it takes it, as far as this is known before."""
    try:
        call = prompt.brought.make_call()
        check_fits(prompt, call)
    except ApiError as error:
        return BroughtProblem(error.message, error.field)
    except CannotPrepare as error:
        return BroughtProblem(error.failure.message, None)
    return None


def block_size_of(model: str) -> int | None:
    """Tokens of a block of the model's cache; None: no worker tells it."""
    try:
        blocks = [each.snapshot.work.blocks for each in latest() if each.is_current and each.snapshot.model == model]
    except RedisError:
        return None
    return next((each.block_size for each in blocks if each is not None), None)

"""A preview of the next request: its prompt, its cost and its wait. The prompt is packed as it would be sent.

Nothing is stored, queued or generated. Knows nothing of HTTP.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from functools import cache
from statistics import median

import msgspec
import redis
from asgiref.sync import sync_to_async
from django.conf import settings
from django.utils import timezone

from inference.eventlog.connections import connect
from inference.eventlog.keys import PREFIX, model_queue, worker_queue
from inference.protocol.events import Dropped, Segment
from inference.protocol.request import SamplingParams, Usage
from inference.tokenization.tokenizer import Tokenizer
from webapp.ground.context.assemble import Assembled
from webapp.ground.context.tools import sizes
from webapp.ground.gateway.structs import Result
from webapp.lifecycle.cache_peek import num_cached
from webapp.lifecycle.prompt_packing import context_event, most_output, pack, served
from webapp.models.billing.bill import prices_in_force
from webapp.models.billing.reprice import amount
from webapp.models.registry.offered import check_offered
from webapp.requests.input import on_full
from webapp.requests.models import Request
from webapp.requests.queues import num_generations
from webapp.requests.workers import ready_workers
from webapp.surfaces.chat.attaching import NOTHING, Wanted
from webapp.surfaces.chat.models import Conversation, Message
from webapp.surfaces.chat.sending import input_for

_EXCERPT_CHARS = 120
_NUM_RECENT = 20
_LEAST_RECENT = 3
"""Least number of waits from which the next one is predicted."""
_MOST_MS = 5000
"""Expiry of a preview's lock, in ms: a lost process blocks the user's next preview no longer than this."""


class Price(Result):
    """The next request's cost by today's prices, in billionths of the currency's unit."""

    currency: str
    version: str
    prompt_nano: int
    """Tokens not known to be cached cost the full price, and that of a write before a breakpoint of the chat."""
    most_answer_nano: int
    """Cost of the longest answer."""


class Wait(Result):
    """The next request's likely wait."""

    num_queued: int
    num_recent: int
    """The user's own recent requests, of whose waits the wait is the median."""
    first_text_us: int | None
    """Null: too few recent requests."""


class ToolSize(Result):
    """The definition of one tool in the next request's prompt."""

    name: str
    num_tokens: int
    """Tokens that begin in its line."""


class Preview(Result):
    """The content, cost and wait of the next request. Texts are excerpts."""

    window: int
    reserved_output: int
    num_prompt_tokens: int
    num_output_tokens: int
    """The most that the answer may have."""
    segments: tuple[Segment, ...]
    tools: tuple[ToolSize, ...]
    """The tools that it declares, in their order."""
    dropped: tuple[Dropped, ...]
    num_dropped_turns: int
    """Turns to which the dropped messages belong."""
    summarised: tuple[Dropped, ...]
    """Messages in whose place the prompt has a summary."""
    num_cached_tokens: int | None
    """Tokens of the prompt in the worker's prefix cache at this moment; null: not known."""
    price: Price | None
    """Null: the model is unpriced."""
    wait: Wait


class Busy(Exception):
    """The user's preview before this one is still being made."""


@dataclass(frozen=True)
class Draft:
    """A message that is not sent. The conversation need not be saved."""

    conversation: Conversation
    parent: Message | None
    text: str
    params: SamplingParams
    wanted: Wanted = NOTHING


async def preview(draft: Draft) -> Preview:
    """Return the preview. Raises CannotPrepare, NotOffered, Busy, RedisError, OperationalError."""
    user_id, model = draft.conversation.user_id, draft.conversation.model
    await sync_to_async(check_offered)(model)
    async with _one_at_a_time(user_id):
        assembled = await sync_to_async(_assembled)(draft)
        cached = await num_cached(assembled.prompt.ids, model, f"user:{user_id}")
        return await sync_to_async(_shown)(draft, assembled, cached)


def _assembled(draft: Draft) -> Assembled:
    """The draft's prompt, packed as it would be sent. Raises CannotPrepare."""
    found = draft.conversation
    question = Message(conversation=found, parent=draft.parent, role=Message.Role.USER, user_text=draft.text)
    source = input_for(found, question, wanted=draft.wanted)
    return pack(served(found.model), source.messages, draft.params, on_full(source), source.summarised)


def _shown(draft: Draft, assembled: Assembled, cached: int | None) -> Preview:
    context, num_prompt = context_event(assembled, 0, 0), len(assembled.prompt.ids)
    num_output = most_output(assembled.window, num_prompt, draft.params)
    return Preview(
        window=context.window,
        reserved_output=context.reserved_output,
        num_prompt_tokens=context.num_prompt_tokens,
        num_output_tokens=num_output,
        segments=tuple(map(_excerpt, assembled.segments)),
        tools=tuple(_tools(assembled, served(draft.conversation.model).tokenizer)),
        dropped=context.dropped,
        num_dropped_turns=assembled.num_dropped_turns,
        summarised=context.summarised,
        num_cached_tokens=cached,
        price=_price(draft.conversation.model, _reading(assembled, cached or 0), num_output),
        wait=_wait(draft.conversation, served(draft.conversation.model).tokenizer.version),
    )


def _excerpt(segment: Segment) -> Segment:
    return msgspec.structs.replace(segment, text=segment.text[:_EXCERPT_CHARS])


def _tools(assembled: Assembled, tokenizer: Tokenizer) -> Iterator[ToolSize]:
    for part in (each for each in assembled.segments if each.kind == "tools"):
        pieces = map(tokenizer.piece, assembled.prompt.ids[part.start : part.end])
        yield from (ToolSize(name=each.name, num_tokens=each.num_tokens) for each in sizes(pieces))


def _reading(assembled: Assembled, cached: int) -> Usage:
    """The prompt's tokens by price. Those before a breakpoint that are not known to be cached are to be written."""
    end = max((each.end for each in assembled.segments if each.breakpoint is not None), default=0)
    written = max(0, end - cached)
    num_left = len(assembled.prompt.ids) - cached - written
    return Usage(uncached_input=num_left, cache_read=cached, cache_write_5m=written)


def _price(model: str, reading: Usage, num_output: int) -> Price | None:
    """Cost by today's prices; None: the model is unpriced."""
    found = prices_in_force(model, timezone.now().date())
    if found is None:
        return None
    return Price(
        currency=found.currency,
        version=found.version,
        prompt_nano=amount(reading, found),
        most_answer_nano=amount(Usage(output=num_output), found),
    )


def _wait(conversation: Conversation, tokenizer_version: str) -> Wait:
    """The median wait of the user's last requests for their first text, and the number queued for the model."""
    own = Request.objects.filter(user_id=conversation.user_id, model=conversation.model, is_imported=False)
    ended = own.filter(first_text_us__isnull=False, finished_at__isnull=False).order_by("-created_at", "-id")
    waits = [us for us in ended.values_list("first_text_us", flat=True)[:_NUM_RECENT] if us is not None]
    known = len(waits) >= _LEAST_RECENT
    return Wait(
        num_queued=num_generations(*_queues(conversation.model, tokenizer_version)),
        num_recent=len(waits),
        first_text_us=round(median(waits)) if known else None,
    )


def _queues(model: str, tokenizer_version: str) -> list[str]:
    """The queues from which the workers of a model take."""
    return [model_queue(model, tokenizer_version), *map(worker_queue, ready_workers(model) or [])]


@asynccontextmanager
async def _one_at_a_time(user_id: int) -> AsyncIterator[None]:
    """Hold the user's preview lock. Raises Busy, RedisError."""
    key = f"{PREFIX}preview:{user_id}"
    if not await sync_to_async(_client().set)(key, 1, nx=True, px=_MOST_MS):
        raise Busy
    try:
        yield
    finally:
        await sync_to_async(_client().delete)(key)


@cache
def _client() -> redis.Redis:
    return connect(settings.ENVIRONMENT.redis_url)

"""A preview of a compaction: what a summary would cover, keep, save and cost. Nothing is stored or generated."""

from __future__ import annotations

from dataclasses import dataclass

from asgiref.sync import sync_to_async
from django.utils import timezone

from inference.protocol.events import Segment
from inference.protocol.request import Usage
from webapp.ground.context.assemble import Assembled, SourceMessage
from webapp.ground.gateway.structs import Result
from webapp.lifecycle.cache_peek import num_cached
from webapp.lifecycle.prompt_packing import num_prompt_tokens, served, whole
from webapp.models.billing.bill import prices_in_force
from webapp.models.billing.reprice import amount
from webapp.surfaces.chat.compacting import Plan, Turn, plan
from webapp.surfaces.chat.models import Conversation, Message
from webapp.surfaces.chat.sending import messages_of
from webapp.surfaces.chat.summaries import LABEL


class TurnShown(Result):
    """A turn of the branch."""

    question: str
    answer: str
    num_tokens: int


class SummaryCost(Result):
    """The most that the summary costs, by today's prices."""

    currency: str
    most_nano: int
    """Nothing of its prompt is taken from the cache, and it is as long as it may be."""


class CompactionPreview(Result):
    """What a summary would cover and keep, what it saves, and what it costs."""

    covered: list[TurnShown]
    kept: list[TurnShown]
    earlier: str | None
    """The summary that stands for the branch's beginning now, which the new one takes in."""
    window: int
    num_tokens_now: int
    """Tokens of the branch as it is."""
    most_tokens_after: int
    """Tokens of the branch with the longest summary."""
    num_request_tokens: int
    """Tokens that the model reads to write the summary."""
    max_summary_tokens: int
    cost: SummaryCost | None
    """Null: the model is unpriced."""
    num_cached: int | None
    """Tokens of the branch in the worker's prefix cache at this moment; null: not known."""
    num_read_again: int | None
    """Cached tokens of the kept turns. They then follow other text, so the next request reads them again."""


@dataclass(frozen=True)
class _Figures:
    plan: Plan
    assembled: Assembled
    """The branch as it is."""
    cut: tuple[int, int]
    """The tokens that the summary replaces."""


async def preview(conversation: Conversation, leaf: Message | None, keep: int) -> CompactionPreview:
    """Return the preview. Raises CannotCompact, CannotPrepare."""
    figures = await sync_to_async(_figures)(conversation, leaf, keep)
    ids, principal = figures.assembled.prompt.ids, f"user:{conversation.user_id}"
    cached = await num_cached(ids, conversation.model, principal)
    return await sync_to_async(_shown)(figures, cached)


def _figures(conversation: Conversation, leaf: Message | None, keep: int) -> _Figures:
    found = plan(conversation, leaf, keep)
    assembled = whole(conversation.model, messages_of(conversation, list(found.path), summary=found.earlier))
    return _Figures(found, assembled, _cut(found, assembled.segments))


def _cut(found: Plan, segments: tuple[Segment, ...]) -> tuple[int, int]:
    """From the first token of the covered turns, or of the summary before them, to the first of the kept ones."""
    covered = {part.source for turn in found.covered for part in turn.parts()}
    kept = {part.source for turn in found.kept for part in turn.parts()}
    start = next(each.start for each in segments if each.kind == "summary" or each.source in covered)
    return start, next((each.start for each in segments if each.source in kept), segments[-1].end)


def _shown(figures: _Figures, cached: int | None) -> CompactionPreview:
    found, (start, end) = figures.plan, figures.cut
    model = found.conversation.model
    now, most, read = (
        len(figures.assembled.prompt.ids),
        found.params.max_tokens,
        num_prompt_tokens(model, found.messages),
    )
    label = served(model).assembler.num_content_tokens(SourceMessage("system", LABEL, "", "summary"))
    return CompactionPreview(
        covered=[_turn(each, model) for each in found.covered],
        kept=[_turn(each, model) for each in found.kept],
        earlier=found.earlier.text if found.earlier else None,
        window=figures.assembled.window,
        num_tokens_now=now,
        most_tokens_after=now - (end - start) + label + most,
        num_request_tokens=read,
        max_summary_tokens=most,
        cost=_cost(model, Usage(uncached_input=read, output=most)),
        num_cached=cached,
        num_read_again=None if cached is None else max(0, cached - end),
    )


def _turn(turn: Turn, model: str) -> TurnShown:
    assembler, parts = served(model).assembler, turn.parts()
    is_question = [message.role == Message.Role.USER for message in turn.messages]
    texts = [message.text for message in turn.messages]
    return TurnShown(
        question="\n".join(text for text, is_asked in zip(texts, is_question, strict=True) if is_asked),
        answer="\n".join(text for text, is_asked in zip(texts, is_question, strict=True) if not is_asked),
        num_tokens=sum(map(assembler.num_content_tokens, parts)),
    )


def _cost(model: str, usage: Usage) -> SummaryCost | None:
    found = prices_in_force(model, timezone.now().date())
    return None if found is None else SummaryCost(currency=found.currency, most_nano=amount(usage, found))

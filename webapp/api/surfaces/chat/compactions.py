"""Operations on the summaries of a conversation: preview, make, list, undo."""

from __future__ import annotations

from asgiref.sync import sync_to_async
from django.http import HttpRequest

from webapp.api.surfaces.chat.conversations import find_conversation
from webapp.api.surfaces.chat.schema import Compaction, Summaries
from webapp.ground.gateway.answer import Answer
from webapp.ground.gateway.errors import ApiError, not_found
from webapp.ground.gateway.idempotency import Key
from webapp.ground.gateway.operation import answers
from webapp.ground.gateway.timing import ServerTiming
from webapp.identity.keys.middleware import key_of
from webapp.lifecycle.start import Arrival
from webapp.lifecycle.stop import stop
from webapp.requests.delivery import once
from webapp.surfaces.chat import compacting, compaction_preview
from webapp.surfaces.chat.compaction_preview import CompactionPreview
from webapp.surfaces.chat.models import Conversation, Message
from webapp.surfaces.chat.shown_summary import Summary, shown_summary

_MAX_KEPT = 1000


async def preview_compaction(request: HttpRequest, conversation_id: str, body: Compaction) -> CompactionPreview:
    """Show what a summary of the oldest turns would cover, keep, save and cost. Nothing is stored.

    409 `nothing_to_compact`, `too_long`, `answer_open`, `model_unavailable`.
    """
    found = await sync_to_async(find_conversation)(request, conversation_id)
    leaf = await sync_to_async(_leaf)(found, body)
    return await compaction_preview.preview(found, leaf, _keep(body))


@answers(201)
def compact(
    request: HttpRequest, conversation_id: str, body: Compaction, timing: ServerTiming, key: Key | None
) -> Answer[Summary]:
    """Summarise the oldest turns by a request of its own. The next prompts have the summary in their place.

    409 `nothing_to_compact`, `too_long`, `compaction_open`, `answer_open`, `model_unavailable`; 422 `key_reused`;
    429 `too_many_requests`, `rate_limited`, `day_used_up`, `budget_used_up`; 403 `sending_stopped`.
    """
    found = find_conversation(request, conversation_id)
    leaf, keep = _leaf(found, body), _keep(body)
    arrival = Arrival(received_unix_us=timing.received_unix_us, surface=compacting.SURFACE, api_key=key_of(request))
    done = once(
        key,
        lambda: compacting.begin_compaction(compacting.plan(found, leaf, keep), arrival, key),
        compacting.begun_before,
    )
    return Answer(shown_summary(done.made), is_repeat=done.is_repeat)


def list_compactions(request: HttpRequest, conversation_id: str) -> Summaries:
    """List the conversation's summaries, oldest first."""
    found = find_conversation(request, conversation_id)
    return Summaries(summaries=[shown_summary(each) for each in found.summaries.select_related("request")])


def undo_compaction(request: HttpRequest, conversation_id: str, summary_id: str) -> None:
    """Delete a summary: the next prompts have the messages again. Its request and its bill stay."""
    found = find_conversation(request, conversation_id)
    summary = found.summaries.select_related("request").filter(pk=summary_id).first()
    if summary is None:
        raise not_found("summary")
    if summary.is_open and summary.request is not None:
        stop(summary.request)
    summary.delete()


def _leaf(found: Conversation, body: Compaction) -> Message | None:
    """The last message of the branch. Raises ApiError."""
    leaf_id = found.leaf_id if body.leaf_id is None else body.leaf_id
    leaf = found.messages.filter(pk=leaf_id).first()
    if leaf is None and body.leaf_id is not None:
        raise not_found("message")
    return leaf


def _keep(body: Compaction) -> int:
    if not 1 <= body.keep <= _MAX_KEPT:
        raise ApiError(400, "invalid", f"keep must be between 1 and {_MAX_KEPT:,}.", "keep")
    return body.keep

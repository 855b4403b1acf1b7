"""The whole texts of the messages that a prompt left out. The log has their beginnings alone."""

from __future__ import annotations

from collections.abc import Iterable

from inference.protocol.events import ContextAssembled, first
from webapp.lifecycle.fork_preparation import frames_of
from webapp.requests.models import Request
from webapp.surfaces.chat.models import Message
from webapp.surfaces.chat.sending import said


def texts_of(request: Request) -> dict[str, str]:
    """The texts by source, as far as they are still there. Raises TraceFileError, RedisError."""
    context = first((event for frame in frames_of(request) for event in frame.events), ContextAssembled)
    if context is None:
        return {}
    sources = {each.source for each in (*context.dropped, *context.summarised)}
    own = {each.source: each.content for each in request.input.messages if each.source in sources}
    return own | _of_conversation(request.user_id, sources - own.keys())


def _of_conversation(user_id: int, sources: Iterable[str]) -> dict[str, str]:
    """Texts of the user's messages. A source names its message second: `message:<id>`, and perhaps a part of it."""
    wanted = set(sources)
    ids = {each.split(":")[1] for each in wanted if ":" in each}
    messages = Message.objects.select_related("request").filter(pk__in=ids, conversation__user_id=user_id)
    return {part.source: part.content for each in messages for part in said(each) if part.source in wanted}

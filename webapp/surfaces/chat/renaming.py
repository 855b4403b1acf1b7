"""Renames a conversation for a tool that one of its answers called."""

from __future__ import annotations

from typing import Any

from webapp.surfaces.chat.models import Conversation
from webapp.tools.tool import Asker


def on_renaming(asker: Asker, title: str, **_: Any) -> bool:
    """Set the title of the asking request's conversation. Return False where there is none of this user."""
    own = Conversation.objects.filter(messages__request_id=asker.request_id, user_id=asker.user_id)
    return bool(Conversation.objects.filter(pk__in=own.values("pk")).update(title=title))

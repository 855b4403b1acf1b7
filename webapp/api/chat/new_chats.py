"""Operations on the features that a user's new conversations begin with."""

from __future__ import annotations

from django.http import HttpRequest

from webapp.api.chat.conversations import checked_tools
from webapp.api.chat.schema import NewChats
from webapp.chat import models
from webapp.gateway.errors import user_id


def show_new_chats(request: HttpRequest) -> NewChats:
    """Show the features that the user's new conversations begin with."""
    found = models.NewChats.of(user_id(request))
    return NewChats(tools=tuple(found.tools), memory=found.memory, speculation=found.speculation)


def change_new_chats(request: HttpRequest, body: NewChats) -> NewChats:
    """Set the features that the user's new conversations begin with. Conversations that have begun keep their own."""
    found = models.NewChats.of(user_id(request))
    found.tools = list(checked_tools(body.tools, found.tools))
    found.memory, found.speculation = body.memory, body.speculation
    found.save()
    return show_new_chats(request)

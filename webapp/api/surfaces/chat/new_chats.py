"""Operations on the features that a user's new conversations begin with."""

from __future__ import annotations

from django.http import HttpRequest

from webapp.api.surfaces.chat.conversations import checked_tools
from webapp.api.surfaces.chat.schema import NewChats
from webapp.ground.gateway.errors import user_id
from webapp.surfaces.chat import models


def show_new_chats(request: HttpRequest) -> NewChats:
    """Show the features that the user's new conversations begin with."""
    found = models.NewChats.of(user_id(request))
    return NewChats(tools=tuple(found.tools), memory=found.memory, speculation=found.speculation)


def change_new_chats(request: HttpRequest, body: NewChats) -> NewChats:
    """Set the features that the user's new conversations begin with. Conversations that have begun keep their own."""
    owner = user_id(request)
    tools = list(checked_tools(body.tools, models.NewChats.of(owner).tools))
    values = {"tools": tools, "memory": body.memory, "speculation": body.speculation}
    models.NewChats.objects.update_or_create(user_id=owner, defaults=values)
    return show_new_chats(request)

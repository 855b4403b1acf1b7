"""Searches the texts of one user's messages."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from webapp.surfaces.chat.models import Message


def saying(owner: int, *words: str) -> QuerySet[Message]:
    """The owner's questions and answers in which each of the words stands."""
    return Message.objects.filter(*map(_has, words), conversation__user_id=owner)


def _has(words: str) -> Q:
    return Q(user_text__icontains=words) | Q(request__output_text__icontains=words) | Q(imported_text__icontains=words)


def past(found: QuerySet[Message], request_id: str) -> QuerySet[Message]:
    """Leave out the messages of the request's chat; the rest is newest first.

    Without questions that the safety policy refused: no later prompt may bring them to the model.
    """
    present = Message.objects.filter(request_id=request_id).values("conversation")
    refused = Message.objects.filter(
        parent_id=OuterRef("pk"), request__error_code="blocked", request__fork_position=None
    )
    return found.exclude(conversation__in=present).filter(~Exists(refused)).order_by("-created_at", "-pk")

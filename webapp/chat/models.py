"""Conversations and their messages: a tree, in which siblings are branches."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from webapp.identifiers import new_conversation_id, new_message_id
from webapp.requests.models import IMPORTED, MAX_IN_FLIGHT, Request

MAX_ANSWERS = MAX_IN_FLIGHT
"""To one message: as many requests as one user may have open."""


class Conversation(models.Model):
    """A tree of messages with its settings; belongs to one user."""

    id = models.CharField(primary_key=True, max_length=32, default=new_conversation_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations")
    title = models.CharField(max_length=200, blank=True)
    model = models.CharField(max_length=128)
    system_prompt = models.TextField(blank=True)
    params = models.JSONField(default=dict)
    n = models.PositiveSmallIntegerField(default=1)
    """Answers to each message."""
    leaf_id = models.CharField(max_length=32, blank=True)
    """The end of the branch that is shown."""
    is_pinned = models.BooleanField(default=False)
    import_digest = models.CharField(max_length=64, blank=True)
    """SHA-256 of what was imported, so that the same is imported once; empty: it was begun here."""
    num_imported_bytes = models.BigIntegerField(default=0)
    """Of the texts that were imported."""
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    """When something was last said in it. A new title, a pin or a change of branch does not count."""

    class Meta:
        indexes: ClassVar = [models.Index(fields=["user", "-updated_at"])]
        constraints: ClassVar = [
            models.UniqueConstraint(
                fields=["user", "import_digest"], condition=~models.Q(import_digest=""), name="imported_once"
            )
        ]

    def __str__(self) -> str:
        return self.title or self.id

    def tree(self) -> models.QuerySet[Message]:
        """All messages with their requests, but not the requests' inputs: each repeats the conversation so far."""
        messages = self.messages.select_related("request").defer("request__input")
        return messages.annotate(key=models.F("delivery__key"))


class Message(models.Model):
    """A user's text, or the answer whose text its request produced."""

    class Role(models.TextChoices):
        USER = "user"
        ASSISTANT = "assistant"

    id = models.CharField(primary_key=True, max_length=32, default=new_message_id, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="messages")
    parent = models.ForeignKey("self", null=True, on_delete=models.CASCADE, related_name="children")
    role = models.CharField(max_length=16, choices=Role.choices)
    user_text = models.TextField(blank=True)
    request = models.OneToOneField(Request, null=True, on_delete=models.SET_NULL, related_name="message")
    is_imported = models.BooleanField(default=False)
    """It was said elsewhere: no request made it, and no safety check here has seen it."""
    imported_text = models.TextField(blank=True)
    """Of an answer that was imported."""
    imported_model = models.CharField(max_length=128, blank=True)
    """The model that gave it, as the file names it."""
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["created_at"]

    def __str__(self) -> str:
        return self.id

    @property
    def text(self) -> str:
        if self.role == self.Role.USER:
            return self.user_text
        return self.request.output_text if self.request else self.imported_text

    @property
    def source(self) -> str:
        """Where it comes from, as the prompt's segments tell."""
        return f"{IMPORTED if self.is_imported else 'message:'}{self.pk}"

    def as_json(self) -> dict[str, Any]:
        """Message of the native API."""
        request = self.request if self.role == self.Role.ASSISTANT else None
        return {
            "id": self.id,
            "parent_id": self.parent_id,
            "role": self.role,
            "text": self.text,
            "key": getattr(self, "key", None),  # of a conversation's tree
            "created_at": self.created_at.isoformat(),
            "request_id": request.id if request else None,
            "is_imported": self.is_imported,
            "model": request.model if request else self.imported_model or None,
            "status": _status(request) if request else None,
            "error": request.error() if request else None,
            "figures": request.figures() if request and request.is_settled else None,
            **(request or Request()).fork(),
        }


class Delivery(models.Model):
    """A message that was sent under a key, so that what is sent again under it is taken once; goes with the message."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="deliveries")
    key = models.CharField(max_length=128)
    digest = models.CharField(max_length=64)
    """SHA-256 of all that was asked."""
    question = models.OneToOneField(Message, on_delete=models.CASCADE, related_name="delivery")
    answer_ids = models.JSONField()
    """Of those that it got at once; others may have come beside them."""
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "key"], name="delivery_key")]

    def __str__(self) -> str:
        return self.key


def _status(request: Request) -> str:
    """The request's; while it is open it streams."""
    is_open = request.status in (Request.Status.QUEUED, Request.Status.RUNNING)
    return "streaming" if is_open else request.status

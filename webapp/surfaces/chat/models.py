"""Conversations and their messages: a tree, in which siblings are branches."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models.signals import pre_delete
from django.dispatch import receiver
from django.utils import timezone

from webapp.content.attachments.models import Carried
from webapp.identifiers import new_conversation_id, new_message_id, new_summary_id
from webapp.requests.models import IMPORTED, MAX_IN_FLIGHT, Delivery, Request

MAX_ANSWERS = MAX_IN_FLIGHT
"""Answers to one message: as many as the requests that one user may have open."""


class WindowPolicy(models.TextChoices):
    """What becomes of old turns for which the window has no room."""

    KEEP = "keep"
    """They stay: a message that does not fit is refused."""
    DROP = "drop"
    """The oldest ones are left out."""
    SUMMARISE = "summarise"
    """A summary stands in their place; until it is made, the oldest ones are left out."""


class Conversation(models.Model):
    """A tree of messages with its settings; belongs to one user."""

    id = models.CharField(primary_key=True, max_length=32, default=new_conversation_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="conversations")
    title = models.CharField(max_length=200, blank=True)
    model = models.CharField(max_length=128)
    system_prompt = models.TextField(blank=True)
    params = models.JSONField(default=dict)
    n = models.PositiveSmallIntegerField(default=1)
    """Number of answers to each message."""
    tools = models.JSONField(default=list)
    """Names of the server's tools that its answers may call."""
    memory = models.BooleanField(default=True)
    """Its prompts may have memories of the user, where the user's mode allows it."""
    speculation = models.BooleanField(default=True)
    """The engine may guess tokens of its answers ahead. The tokens are the same without it."""
    window_policy = models.CharField(max_length=16, default=WindowPolicy.DROP, choices=WindowPolicy.choices)
    """What becomes of old turns for which the window has no room."""
    leaf_id = models.CharField(max_length=32, blank=True)
    """Id of the last message of the shown branch."""
    is_pinned = models.BooleanField(default=False)
    import_digest = models.CharField(max_length=64, blank=True)
    """SHA-256 of the imported messages, so that the same are imported once; empty: the conversation began here."""
    num_imported_bytes = models.BigIntegerField(default=0)
    """Size of the imported texts."""
    created_at = models.DateTimeField(default=timezone.now)
    updated_at = models.DateTimeField(default=timezone.now)
    """Time of the last message or begun answer. A new title, a pin or a change of branch does not count."""

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
        """All messages with their requests. Inputs are deferred: each repeats the conversation so far."""
        messages = self.messages.select_related("request").defer("request__input")
        carried = Carried.objects.select_related("attachment").defer("attachment__text")
        messages = messages.prefetch_related(models.Prefetch("carried", carried))
        keys = Delivery.objects.filter(first_id=models.OuterRef("pk")).values("key")[:1]
        return messages.annotate(key=models.Subquery(keys))


class NewChats(models.Model):
    """The features that a user's new conversations begin with. A user without a row has the defaults."""

    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="new_chats"
    )
    tools = models.JSONField(default=list)
    """Names of the server's tools."""
    memory = models.BooleanField(default=True)
    speculation = models.BooleanField(default=True)

    class Meta:
        verbose_name_plural = "new chats"

    def __str__(self) -> str:
        return f"new chats of user {self.user_id}"

    @classmethod
    def of(cls, user_id: int) -> NewChats:
        return cls.objects.filter(pk=user_id).first() or cls(user_id=user_id)


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
    """The message comes from another system: no request made it, and no safety check here has seen it."""
    imported_text = models.TextField(blank=True)
    """Text of an imported answer."""
    imported_model = models.CharField(max_length=128, blank=True)
    """The imported answer's model, as the file names it."""
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
        """The message's origin, as the prompt's segments name it."""
        return f"{IMPORTED if self.is_imported else 'message:'}{self.pk}"


class Summary(models.Model):
    """A summary of a branch's beginning. It holds for each branch with the last message that it covers."""

    id = models.CharField(primary_key=True, max_length=32, default=new_summary_id, editable=False)
    conversation = models.ForeignKey(Conversation, on_delete=models.CASCADE, related_name="summaries")
    up_to = models.ForeignKey(Message, on_delete=models.CASCADE, related_name="+")
    """The last message that it covers."""
    request = models.OneToOneField(Request, null=True, on_delete=models.SET_NULL, related_name="summary")
    """The generation whose answer it is."""
    covered = models.JSONField(default=list)
    """The messages that it covers, as `Dropped` of the protocol, oldest first."""
    num_turns = models.PositiveIntegerField()
    num_tokens_before = models.PositiveIntegerField()
    """Tokens of all covered messages."""
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        ordering: ClassVar = ["created_at"]

    def __str__(self) -> str:
        return self.id

    @property
    def is_open(self) -> bool:
        return self.request is not None and not self.request.is_settled

    @property
    def text(self) -> str:
        """Empty while it is being made, and where its generation failed, was stopped or withheld."""
        is_done = self.request is not None and self.request.status == Request.Status.DONE
        return self.request.output_text.strip() if self.request is not None and is_done else ""


@receiver(pre_delete, sender=Conversation)
def forget_keys(instance: Conversation, **_: Any) -> None:
    """Delete the keys of the conversation's messages with it."""
    Delivery.objects.filter(first_id__in=instance.messages.values("pk")).delete()

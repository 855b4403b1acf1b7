"""The database rows of attached files, their passages, and the messages that carry them."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models
from django.utils import timezone

from inference.protocol.events import Image
from webapp.identifiers import new_attachment_id

MAX_NAME_CHARS = 120
PREFIX = "attachment:"
"""Begins the source of each text of a file in a prompt."""


class Attachment(models.Model):
    """A file of one user; with its first message it belongs to one conversation, and goes with it."""

    class Status(models.TextChoices):
        READING = "reading"
        READY = "ready"
        REFUSED = "refused"

    id = models.CharField(primary_key=True, max_length=32, default=new_attachment_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="attachments")
    conversation = models.ForeignKey(
        "chat.Conversation", null=True, on_delete=models.CASCADE, related_name="attachments"
    )
    """Null: no message has carried it yet."""
    name = models.CharField(max_length=MAX_NAME_CHARS)
    media_type = models.CharField(max_length=128, blank=True)
    """By its content; empty: not known yet."""
    num_bytes = models.PositiveBigIntegerField()
    sha256 = models.CharField(max_length=64)
    """Of the file's bytes, which are not kept, but for a picture's."""
    width = models.PositiveIntegerField(null=True)
    height = models.PositiveIntegerField(null=True)
    """In pixels. Null: it is no picture."""
    is_of_call = models.BooleanField(default=False)
    """A picture that a call of an API client brought. It is kept for a day after the last call with it."""
    text = models.TextField(blank=True)
    model = models.CharField(max_length=128)
    """The model whose tokens are counted."""
    num_tokens = models.PositiveIntegerField(null=True)
    num_passages = models.PositiveIntegerField(default=0)
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.READING)
    reason = models.CharField(max_length=500, blank=True)
    """Why it was refused, in words."""
    is_flagged = models.BooleanField(default=False)
    """The safety policy flagged its text when it was read."""
    flagged_as = models.JSONField(default=list)
    """The categories for which it did, by the alphabet; empty for an older file."""
    percent = models.PositiveSmallIntegerField(default=0)
    """The share that is read."""
    attempt = models.PositiveIntegerField(default=0)
    """Fences the reading: one that was given up writes nothing more."""
    created_at = models.DateTimeField(default=timezone.now)
    touched_at = models.DateTimeField(default=timezone.now)
    """The last sign of its reading."""

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["user", "created_at"]),
            models.Index(fields=["user", "sha256"]),
        ]

    def __str__(self) -> str:
        return self.name

    @property
    def image(self) -> Image | None:
        """Its reference, of a picture."""
        if self.width is None or self.height is None:
            return None
        return Image(
            sha256=self.sha256,
            media_type=self.media_type,
            num_bytes=self.num_bytes,
            width=self.width,
            height=self.height,
        )

    @property
    def source(self) -> str:
        """Its origin, as the prompt's segments name it."""
        return f"{PREFIX}{self.pk}"


class Content(models.Model):
    """The bytes of a file until they are read, and those of a picture as long as its row is there."""

    attachment = models.OneToOneField(Attachment, primary_key=True, on_delete=models.CASCADE, related_name="content")
    data = models.BinaryField()

    def __str__(self) -> str:
        return self.attachment_id


class Passage(models.Model):
    """A stretch of a file's text, with its embedding."""

    attachment = models.ForeignKey(Attachment, on_delete=models.CASCADE, related_name="passages")
    number = models.PositiveIntegerField()
    """From 1."""
    start = models.PositiveIntegerField()
    end = models.PositiveIntegerField()
    """In characters of the file's text."""
    vector = models.BinaryField()
    """float32, of length 1."""

    class Meta:
        ordering: ClassVar = ["number"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["attachment", "number"], name="passage_once")]

    def __str__(self) -> str:
        return f"{self.attachment_id}#{self.number}"


class Carried(models.Model):
    """A message that carries a file."""

    message = models.ForeignKey("chat.Message", on_delete=models.CASCADE, related_name="carried")
    attachment = models.ForeignKey(Attachment, on_delete=models.CASCADE, related_name="carried")

    class Meta:
        ordering: ClassVar = ["pk"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["message", "attachment"], name="carried_once")]

    def __str__(self) -> str:
        return f"{self.message_id} {self.attachment_id}"

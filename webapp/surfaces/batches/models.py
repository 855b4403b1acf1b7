"""The database rows of files, batches and their lines. The answers' events are in the traces of the requests."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.db import models
from django.db.models.signals import post_delete
from django.dispatch import receiver
from django.utils import timezone

from webapp.identifiers import new_file_id
from webapp.requests.delivery import forget

MAX_CUSTOM_ID_CHARS = 256
MAX_ERROR_CHARS = 500


class Batch(models.Model):
    """Calls that a client sends together. Each line is one call."""

    class Status(models.TextChoices):
        VALIDATING = "validating"
        """Its file is not read yet."""
        IN_PROGRESS = "in_progress"
        FINALIZING = "finalizing"
        """Each line has its end."""
        COMPLETED = "completed"
        CANCELLING = "cancelling"
        """No further line begins; the open ones run to their end."""
        CANCELLED = "cancelled"
        FAILED = "failed"
        """Its file cannot be used, so that no line began."""
        EXPIRED = "expired"

    id = models.CharField(primary_key=True, max_length=40, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="batches")
    key = models.ForeignKey("keys.ApiKey", null=True, on_delete=models.SET_NULL, related_name="+")
    """The key that began it, with which each line runs; null: the key was deleted, and no further line begins."""
    is_of_sign_in = models.BooleanField(default=False)
    """The page began it: its lines need no key."""
    family = models.CharField(max_length=16)
    """The API whose forms its lines have."""
    endpoint = models.CharField(max_length=32)
    """The address to which each line would be sent alone."""
    model_ids = models.JSONField(default=list)
    """All models that its lines name."""
    input_file = models.CharField(max_length=40, blank=True)
    """Id of the file with its lines, which may be deleted since; empty: the lines came with the call."""
    metadata = models.JSONField(null=True)
    """The client's own."""
    errors = models.JSONField(default=list)
    """The reasons why its file cannot be used."""
    output_expires_s = models.PositiveIntegerField(null=True)
    """Time for which its result files are kept; null: as long as any."""
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.VALIDATING)
    created_at = models.DateTimeField(default=timezone.now)
    in_progress_at = models.DateTimeField(null=True)
    cancelling_at = models.DateTimeField(null=True)
    finalizing_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField()
    """No line begins after this."""
    resumes_at = models.DateTimeField(default=timezone.now)
    """No line begins before this: a limit was reached."""
    num_stored_bytes = models.PositiveBigIntegerField(default=0)
    """Sum of its lines' stored bytes, kept with them."""

    class Meta:
        indexes: ClassVar = [
            models.Index(fields=["user", "-created_at", "-id"], name="batches_of_user"),
            models.Index(fields=["status"], condition=models.Q(ended_at=None), name="open_batches"),
        ]

    def __str__(self) -> str:
        return self.id


class Line(models.Model):
    """One call of a batch, and its answer."""

    class Status(models.TextChoices):
        WAITING = "waiting"
        OPEN = "open"
        """Its requests have begun."""
        SUCCEEDED = "succeeded"
        ERRORED = "errored"
        CANCELED = "canceled"
        EXPIRED = "expired"

    batch = models.ForeignKey(Batch, on_delete=models.CASCADE, related_name="lines")
    index = models.PositiveIntegerField()
    custom_id = models.CharField(max_length=MAX_CUSTOM_ID_CHARS)
    model = models.CharField(max_length=128)
    body = models.TextField()
    """The call as JSON; empty once the line has ended."""
    status = models.CharField(max_length=16, choices=Status.choices, default=Status.WAITING)
    request_ids = models.JSONField(default=list)
    """Ids of the requests that answer it; empty: none has begun."""
    num_tries = models.PositiveSmallIntegerField(default=0)
    answer = models.TextField(blank=True)
    """The line of the result file; empty: there is none yet, or the file was deleted."""
    num_bytes = models.PositiveIntegerField(default=0)
    """Stored bytes of body and answer."""
    num_input_tokens = models.PositiveIntegerField(default=0)
    num_cached_tokens = models.PositiveIntegerField(default=0)
    """Part of the input."""
    num_output_tokens = models.PositiveIntegerField(default=0)
    cost_nano = models.BigIntegerField(null=True)
    """Billed for it, which the deletion of its trace leaves; null: nothing was."""
    currency = models.CharField(max_length=3, blank=True)
    error = models.CharField(max_length=MAX_ERROR_CHARS, blank=True)
    """The reason why it has no answer, in words."""

    class Meta:
        ordering: ClassVar = ["index"]
        indexes: ClassVar = [models.Index(fields=["batch", "status", "index"], name="lines_by_status")]
        constraints: ClassVar = [
            models.UniqueConstraint(fields=["batch", "index"], name="one_line_per_index"),
            models.UniqueConstraint(fields=["batch", "custom_id"], name="one_line_per_custom_id"),
        ]

    def __str__(self) -> str:
        return f"line {self.index} of {self.batch_id}"


class StoredFile(models.Model):
    """A file that a user sent, or the results of a batch."""

    class Part(models.TextChoices):
        INPUT = "", "input"
        OUTPUT = "output"
        """The answers of a batch."""
        ERRORS = "errors"
        """The lines of a batch that have no answer."""

    id = models.CharField(primary_key=True, max_length=40, default=new_file_id, editable=False)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="files")
    key = models.ForeignKey("keys.ApiKey", null=True, on_delete=models.SET_NULL, related_name="+")
    """The key with which it was sent, or that began the batch."""
    name = models.CharField(max_length=255)
    part = models.CharField(max_length=8, choices=Part.choices, blank=True)
    batch = models.ForeignKey(Batch, null=True, on_delete=models.CASCADE, related_name="files")
    """The batch whose results it holds; null: a user sent it."""
    content = models.TextField(blank=True)
    """Empty for results, which the batch's lines hold."""
    num_bytes = models.PositiveIntegerField()
    created_at = models.DateTimeField(default=timezone.now)
    expires_at = models.DateTimeField(null=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["user", "-created_at", "-id"], name="files_of_user")]

    def __str__(self) -> str:
        return self.id


@receiver(post_delete, sender=Batch)
@receiver(post_delete, sender=StoredFile)
def forget_key(instance: Batch | StoredFile, **_: Any) -> None:
    """Delete the key of the call that made it."""
    forget(instance.pk)

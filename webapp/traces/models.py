"""The saved events of a settled request, and its owner's marks in the library."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models

from webapp.requests.models import Request


class Trace(models.Model):
    """One request's events, compressed."""

    request = models.OneToOneField(Request, on_delete=models.CASCADE, related_name="trace", primary_key=True)
    blob = models.BinaryField()
    observed = models.JSONField(null=True)
    """The browser's own timing, which arrives after the trace was saved."""
    saved_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        permissions: ClassVar = [("view_any_trace", "Can read the traces of all users, texts included")]

    def __str__(self) -> str:
        return str(self.request_id)


class Import(models.Model):
    """Digests of an imported trace, by which a second import of the same events is found."""

    trace = models.OneToOneField(Trace, on_delete=models.CASCADE, related_name="imported", primary_key=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    events_sha256 = models.CharField(max_length=64)
    redacted_sha256 = models.CharField(max_length=64)
    """Digest of the events' redacted form."""

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "events_sha256"], name="an_import_once")]
        indexes: ClassVar = [models.Index(fields=["user", "redacted_sha256"], name="redacted_import")]

    def __str__(self) -> str:
        return str(self.trace_id)


class Entry(models.Model):
    """A saved trace's entry in the library. It has its own table, so that a search does not read the events."""

    trace = models.OneToOneField(Trace, on_delete=models.CASCADE, related_name="entry", primary_key=True)
    search_text = models.TextField(blank=True)
    """Title, question and answer, for the search."""
    is_pinned = models.BooleanField(default=False)
    note = models.TextField(blank=True)

    class Meta:
        indexes: ClassVar = [models.Index(fields=["trace"], condition=models.Q(is_pinned=True), name="pinned")]

    def __str__(self) -> str:
        return str(self.trace_id)


class Tag(models.Model):
    """A tag of a trace, set by its owner."""

    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="tags")
    name = models.CharField(max_length=40)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["entry", "name"], name="a_tag_once")]
        indexes: ClassVar = [models.Index(fields=["name"])]

    def __str__(self) -> str:
        return self.name


class SavedView(models.Model):
    """A user's named filter of the library."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="saved_views")
    name = models.CharField(max_length=80)
    query = models.TextField(blank=True)
    """As in the address of the library page: `status=failed&tag=slow`."""

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "name"], name="a_view_once")]

    def __str__(self) -> str:
        return self.name


class Share(models.Model):
    """A link that opens one trace without sign-in until it expires. Only a hash of its token is kept."""

    trace = models.ForeignKey(Trace, on_delete=models.CASCADE, related_name="shares")
    token_sha256 = models.CharField(max_length=64, unique=True)
    is_redacted = models.BooleanField()
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()

    def __str__(self) -> str:
        return f"link to {self.trace_id}"


class RetentionRule(models.Model):
    """The days after which a user's traces are deleted; without a rule they are kept forever."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, primary_key=True, related_name="+")
    keep_days = models.PositiveIntegerField()

    def __str__(self) -> str:
        return f"{self.keep_days} days for {self.user}"


class SiteRetentionRule(models.Model):
    """The operator's limit on the days for which traces are kept: pinned ones too."""

    group = models.OneToOneField(Group, null=True, on_delete=models.CASCADE, related_name="+")
    """Null: all users."""
    keep_days = models.PositiveIntegerField()

    class Meta:
        verbose_name = "retention rule"
        constraints: ClassVar = [
            models.UniqueConstraint(models.Value(1), condition=models.Q(group=None), name="one_rule_for_all")
        ]

    def __str__(self) -> str:
        return f"for {self.group or 'all users'}"

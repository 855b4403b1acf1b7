"""The saved events of a settled request."""

from __future__ import annotations

from django.db import models

from webapp.lifecycle.models import Request


class Trace(models.Model):
    """One request's events, compressed, and the text by which it is found."""

    request = models.OneToOneField(Request, on_delete=models.CASCADE, related_name="trace", primary_key=True)
    blob = models.BinaryField()
    observed = models.JSONField(null=True)
    """The browser's own timing, which arrives after the trace was saved."""
    search_text = models.TextField(blank=True)
    saved_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return str(self.request_id)

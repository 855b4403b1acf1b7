"""The rows of recordings and of their turns. Knows nothing of the requests' content."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.db import models

from webapp.requests.models import Request

MAX_NAME_CHARS = 40


class Recording(models.Model):
    """The requests that came through one address of a user. Its name stands in the address."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="recordings")
    name = models.CharField(max_length=MAX_NAME_CHARS)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "name"], name="a_recording_once")]

    def __str__(self) -> str:
        return self.name


class Turn(models.Model):
    """A request of a recording. It goes with the request; the request stays when the recording goes."""

    request = models.OneToOneField(Request, on_delete=models.CASCADE, primary_key=True, related_name="turn")
    recording = models.ForeignKey(Recording, on_delete=models.CASCADE, related_name="turns")
    difference = models.JSONField(null=True)
    """The prompt's difference from the turn before; null: it is not known, or it goes on from none."""

    def __str__(self) -> str:
        return str(self.request_id)

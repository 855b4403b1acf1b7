"""The row of a stored response: what its request's row and events do not tell. Knows nothing of a family's forms."""

from __future__ import annotations

from django.db import models

from webapp.requests.models import Request


class StoredResponse(models.Model):
    """A call whose answer a client may read again. The answer itself is in the request's log or trace."""

    request = models.OneToOneField(Request, on_delete=models.CASCADE, primary_key=True, related_name="response")
    body = models.JSONField()
    """The call's body, as the client sent it."""

    def __str__(self) -> str:
        return str(self.request_id)

"""One-time sign-in links."""

from __future__ import annotations

from django.conf import settings
from django.db import models


class SignInLink(models.Model):
    """A link that signs one user in, once. Only a hash of its token is kept."""

    token_sha256 = models.CharField(max_length=64, unique=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"link for {self.user}"

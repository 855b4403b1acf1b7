"""One-time sign-in links, failed sign-ins, and the roles of users in their groups."""

from __future__ import annotations

from typing import ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.db import models


class SignInLink(models.Model):
    """A link that signs one user in, once. Only a hash of its token is kept."""

    token_sha256 = models.CharField(max_length=64, unique=True)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    expires_at = models.DateTimeField()
    used_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return f"link for {self.user}"


class FailedSignIn(models.Model):
    """A wrong password. Name and address are kept as keyed hashes, for ten minutes."""

    account_and_address = models.CharField(max_length=64, db_index=True)
    address = models.CharField(max_length=64, db_index=True)
    at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"failed sign-in at {self.at}"


class Membership(models.Model):
    """A user's role in a group of theirs. A member without a role has no row."""

    class Role(models.TextChoices):
        OWNER = "owner"
        """Sees the usage of the group's members."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=8, choices=Role.choices)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "group"], name="one_role_in_a_group")]

    def __str__(self) -> str:
        return f"{self.role} {self.user} of {self.group}"

"""Sign-ins, one-time sign-in links, failed sign-ins, roles of users in their groups, and invitations."""

from __future__ import annotations

from typing import Any, ClassVar

from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils import timezone


class Session(AbstractBaseSession):
    """A sign-in in one browser, by Django's own session. `webapp.identity.accounts.sessions` fills it.

    `expire_date` is the nearer end of its two limits.
    """

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+", null=True)
    """Null: the session is no sign-in."""
    began_at = models.DateTimeField()
    seen_at = models.DateTimeField()
    """Last use, to the minute."""
    browser = models.CharField(max_length=40)
    """Empty, as the next two: not known."""
    system = models.CharField(max_length=40)
    network = models.CharField(max_length=43)
    """The network of the address, not the address."""

    class Meta(AbstractBaseSession.Meta):
        default_permissions = ()
        permissions: ClassVar = [("end_sign_ins", "Can end all sign-ins of a user")]

    def __str__(self) -> str:
        return f"sign-in of {self.user}"

    @classmethod
    def get_session_store_class(cls) -> Any:
        """Django's own way from a row to its data."""
        from webapp.identity.accounts.sessions import SessionStore

        return SessionStore


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


class Role(models.TextChoices):
    """What a user may do in a group."""

    OWNER = "owner"
    """Manages the group's people, and sees their usage and the keys'."""
    MEMBER = "member"
    """Sends requests on the group's limits, and sees the group's usage."""
    VIEWER = "viewer"
    """Sees the group's usage, and begins no work for it."""


class Membership(models.Model):
    """A user's role in a group of theirs, as an owner or a viewer. A member has no row."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=8, choices=Role.choices)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "group"], name="one_role_in_a_group")]

    def __str__(self) -> str:
        return f"{self.role} {self.user} of {self.group}"


class Invitation(models.Model):
    """An invitation of a user into a group. It goes when the user accepts or declines it."""

    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="+")
    group = models.ForeignKey(Group, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=8, choices=Role.choices)
    """The role that the user has once the invitation is accepted."""
    invited_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    invited_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints: ClassVar = [models.UniqueConstraint(fields=["user", "group"], name="one_invitation_into_a_group")]

    def __str__(self) -> str:
        return f"invitation of {self.user} into {self.group}"

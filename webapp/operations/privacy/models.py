"""The erasures of users' data: begun, under way and done. A row holds no word of the user."""

from __future__ import annotations

from typing import ClassVar, Literal

from django.conf import settings
from django.db import models
from django.utils import timezone

State = Literal["stopping", "searching", "done"]


class Erasure(models.Model):
    """One user's erasure. It stays for good, with the account that has no name any more."""

    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, primary_key=True, related_name="+")
    asked_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.PROTECT, related_name="+")
    """The user's own account, or the operator's."""
    begun_at = models.DateTimeField(default=timezone.now)
    """From here on the account is blocked."""
    erased_at = models.DateTimeField(null=True)
    """End of the first search; later ones look for late writes."""
    done_at = models.DateTimeField(null=True)
    deleted = models.JSONField(default=dict)
    """Deleted rows by model: {"chat.message": 12}."""
    is_overwritten = models.BooleanField(default=False)
    """The database's own files have no deleted rows any more."""

    class Meta:
        default_permissions: ClassVar = ()
        permissions: ClassVar = [
            ("export_user", "Can export all data of a user, texts included"),
            ("erase_user", "Can erase all data of a user"),
        ]

    def __str__(self) -> str:
        return f"erasure of account {self.user_id}"

    @property
    def state(self) -> State:
        if self.done_at is not None:
            return "done"
        return "stopping" if self.erased_at is None else "searching"

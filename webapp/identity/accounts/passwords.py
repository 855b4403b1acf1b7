"""A new password ends the account's sign-ins, through Django's hook for validators of passwords."""

from __future__ import annotations

from django.contrib.auth.models import AbstractBaseUser

from webapp.identity.accounts.sign_ins import end_all


class EndSignIns:
    """Refuses no password. The sign-in in which a user changes their own password gets a new id, and stays."""

    def validate(self, password: str, user: AbstractBaseUser | None = None) -> None:
        """Refuse nothing."""

    def get_help_text(self) -> str:
        """The words beside the field."""
        return "A new password ends all other sign-ins of the account."

    def password_changed(self, password: str, user: AbstractBaseUser | None = None) -> None:
        """End the sign-ins of a user who has some."""
        if user is not None and user.pk is not None:
            end_all(user.pk)

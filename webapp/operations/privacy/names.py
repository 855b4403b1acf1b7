"""Takes a user's names out of the account and of the rows about it, which stay. Knows nothing of the rows that go."""

from __future__ import annotations

from django.contrib.admin.models import LogEntry
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.db import transaction
from django.utils import timezone

from webapp.identifiers import new_id
from webapp.operations.privacy.audit_data import forget_names


def new_name_of(user_id: int) -> str:
    """The name that the account gets; with random letters where another account has taken it."""
    name = f"erased-{user_id}"
    return new_id(name) if User.objects.filter(username=name).exclude(pk=user_id).exists() else name


def make_nameless(user: User, new_name: str) -> None:
    """Replace the account's names; a second call changes nothing.

    The update of the row is no entry of the audit log, which would have both names.
    """
    with transaction.atomic():
        forget_names(user, new_name)
        subject = ContentType.objects.get_for_model(User)
        LogEntry.objects.filter(content_type=subject, object_id=str(user.pk)).update(object_repr=new_name)
        User.objects.filter(pk=user.pk).update(
            username=new_name,
            first_name="",
            last_name="",
            email="",
            password=make_password(None),
            is_active=False,
            is_staff=False,
            is_superuser=False,
            last_login=None,
            date_joined=timezone.now(),
        )

"""Takes a user's name out of the rows that stay. Knows nothing of the rows that go."""

from __future__ import annotations

from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import User
from django.contrib.contenttypes.models import ContentType
from django.utils import timezone

from webapp.identifiers import new_id


def make_nameless(user_id: int) -> None:
    """Replace the account's names; a second call changes nothing."""
    user = User.objects.get(pk=user_id)
    if user.email == "" and user.username.startswith(_prefix(user_id)) and not user.has_usable_password():
        return
    user.username = _free_name(user_id)
    user.first_name = user.last_name = user.email = ""
    user.is_active = user.is_staff = user.is_superuser = False
    user.last_login, user.date_joined = None, timezone.now()
    user.set_unusable_password()
    user.groups.clear()
    user.user_permissions.clear()
    user.save()
    told = LogEntry.objects.filter(content_type=ContentType.objects.get_for_model(User), object_id=str(user_id))
    told.update(object_repr=user.username)


def _prefix(user_id: int) -> str:
    return f"erased-{user_id}"


def _free_name(user_id: int) -> str:
    """The prefix; with random letters where another account has taken that name."""
    name = _prefix(user_id)
    return new_id(name) if User.objects.filter(username=name).exclude(pk=user_id).exists() else name

"""`manage.py create_key USER --name NAME`: makes a key of a user and prints it as its last word."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from webapp.identity.keys.keys import KeyInvalid, TooManyKeys, create
from webapp.identity.keys.models import FEATURES

_MOST_DAYS = 36_500
"""A hundred years; a date has an end."""


class Command(BaseCommand):
    help = "Make a key of a user and print it, once: it is not kept."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", help="name of the account")
        parser.add_argument("--name", required=True, help="tells the user's keys apart")
        parser.add_argument("--model", action="append", default=[], help="a model that it may use; default: all")
        parser.add_argument("--feature", action="append", default=[], choices=FEATURES, help="default: all")
        parser.add_argument("--expires-days", type=int, metavar="N", help="days until it expires; default: never")

    def handle(self, *args: Any, **options: Any) -> None:
        user = User.objects.filter(username=options["user"], is_active=True).first()
        if user is None:
            raise CommandError(f"There is no open account named {options['user']!r}.")
        days = options["expires_days"]
        if days is not None and not 0 < days <= _MOST_DAYS:
            raise CommandError(f"--expires-days must be 1 to {_MOST_DAYS:,}.")
        expires_at = None if days is None else timezone.now() + timedelta(days=days)
        try:
            new = create(user.pk, options["name"], options["model"], options["feature"], expires_at)
        except (KeyInvalid, TooManyKeys) as error:
            raise CommandError(str(error)) from None
        self.stderr.write(f"A key of {user.username}, named {new.key.name}. Keep it now: it is not shown again.")
        self.stdout.write(new.secret)

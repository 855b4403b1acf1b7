"""`manage.py signin_link`: prints the path of a one-time link for the first administrator."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandParser

from webapp.accounts.links import make_link


class Command(BaseCommand):
    help = "Print a one-time sign-in path; the user is made, as an administrator, when missing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", default="admin")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["user"]
        user, _ = User.objects.get_or_create(username=name, defaults={"is_staff": True, "is_superuser": True})
        self.stdout.write(make_link(user))

"""`manage.py signin_link`: prints a one-time link for the first administrator, as a browser opens it."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandParser

from webapp.accounts.links import make_link


class Command(BaseCommand):
    help = "Print a one-time sign-in link; the user is made, as an administrator, when missing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", default="admin")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["user"]
        user, _ = User.objects.get_or_create(username=name, defaults={"is_staff": True, "is_superuser": True})
        environment = settings.ENVIRONMENT
        self.stdout.write((environment.public_url or environment.address) + make_link(user))

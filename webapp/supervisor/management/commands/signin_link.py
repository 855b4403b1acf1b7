"""`manage.py signin_link`: prints a one-time link for the first administrator, ready for a browser.

The link has the address of the running product, which wrote it into the data folder.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandParser

from webapp.accounts.links import make_link
from webapp.supervisor.checks import running_address


class Command(BaseCommand):
    help = "Print a one-time sign-in link; the user is made, as an administrator, when missing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", default="admin")

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["user"]
        user, _ = User.objects.get_or_create(username=name, defaults={"is_staff": True, "is_superuser": True})
        environment = settings.ENVIRONMENT
        address = running_address(environment.data)
        if address is None:
            self.stderr.write(
                f"Sightglass is not running with {environment.data}: the link is for PORT and HOST as set."
            )
        self.stdout.write((address or environment.public_url or environment.address) + make_link(user))

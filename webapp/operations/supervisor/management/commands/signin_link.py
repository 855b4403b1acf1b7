"""`manage.py signin_link`: prints a one-time link for the first administrator, ready for a browser.

The link has the address of the running product, which wrote it into the data folder.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import OperationalError, ProgrammingError

from webapp.identity.accounts.links import make_link
from webapp.operations.supervisor.checks import running_address


class Command(BaseCommand):
    help = "Print a one-time sign-in link; the user is made, as an administrator, when missing."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--user", default="admin")

    def handle(self, *args: Any, **options: Any) -> None:
        environment = settings.ENVIRONMENT
        try:
            path = _new_link(options["user"])
        except (OperationalError, ProgrammingError) as error:
            raise CommandError(
                f"The database of {environment.data} is not ready ({error}). Start Sightglass once with `make up`,"
                " or set SIGHTGLASS_DATA to the data folder that it uses."
            ) from None
        address = running_address(environment.data)
        if address is None:
            self.stderr.write(
                f"Sightglass is not running with {environment.data}: the link is for PORT and HOST as set."
            )
        self.stdout.write((address or environment.public_url or environment.address) + path)


def _new_link(name: str) -> str:
    """Return the path of a new link for the user of this name. Makes a missing user as an administrator."""
    user, _ = User.objects.get_or_create(username=name, defaults={"is_staff": True, "is_superuser": True})
    return make_link(user)

"""`manage.py migrate`: Django's own, and one sentence where the database is too old for it."""

from __future__ import annotations

from typing import Any

from django.core.management.base import CommandError
from django.core.management.commands import migrate
from django.db import connections

from webapp.operations.supervisor.older_database import is_too_old

_LAST_WITH_OLDER_MIGRATIONS = "54d5a2f4"
"""The last commit that can bring a database of any age up to date."""


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if is_too_old(connection):
            raise CommandError(
                f"The database {connection.settings_dict['NAME']} is of a version before 0.2.0. Start commit"
                f" {_LAST_WITH_OLDER_MIGRATIONS} with it once, then start this version again. Nothing was changed."
            )
        super().handle(*args, **options)

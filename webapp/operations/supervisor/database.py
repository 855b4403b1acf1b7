"""Brings the database of a product that starts up to date. Knows nothing of the processes that use it."""

from __future__ import annotations

from django.conf import settings
from django.core.management import CommandError, call_command
from django.db import DatabaseError

from webapp.operations.supervisor.checks import CannotStart


def migrate() -> None:
    """Migrate the database. Raises CannotStart."""
    try:
        call_command("migrate", verbosity=0)
        for file in settings.ENVIRONMENT.data.glob("*.sqlite3*"):
            file.chmod(0o600)  # one of an earlier version may be open to others
    except CommandError as error:
        raise CannotStart(str(error)) from None
    except DatabaseError as error:
        place, reason = settings.DATABASES["default"]["NAME"], str(error).splitlines()[0]
        is_file = settings.ENVIRONMENT.database_url is None
        advice = "Move the file away, or set SIGHTGLASS_DATA" if is_file else "Check SIGHTGLASS_DATABASE_URL"
        raise CannotStart(f"The database {place} cannot be used ({reason}). {advice}.") from None

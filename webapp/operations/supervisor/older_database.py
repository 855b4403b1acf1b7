"""Tells a database that no migration here can bring up to date. Knows nothing of what to do with it."""

from __future__ import annotations

from typing import Any

from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder


def is_too_old(connection: Any) -> bool:
    """True where an app has some of the migrations that its first one replaces, and lacks others.

    Their files are gone, so the others cannot be applied any more.
    """
    applied = set(MigrationRecorder(connection).applied_migrations())
    replaced = [set(each.replaces) for each in MigrationLoader(None).replacements.values()]
    return any(names & applied and names - applied for names in replaced)

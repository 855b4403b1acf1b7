"""Every database of release 0.2.0 or its last commit before goes on; an older one is refused by one sentence."""

from __future__ import annotations

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from webapp.operations.supervisor.checks import CannotStart
from webapp.operations.supervisor.database import migrate

pytestmark = pytest.mark.django_db

SENTENCE = (
    r"^The database .+ is of a version before 0\.2\.0\. Start commit 54d5a2f4 with it once, then start this version"
    r" again\. Nothing was changed\.$"
)


def recorded() -> set[tuple[str, str]]:
    return set(MigrationRecorder(connection).applied_migrations())


def forget(app: str, name: str) -> None:
    MigrationRecorder(connection).record_unapplied(app, name)


def replacing() -> list[tuple[str, str]]:
    return list(MigrationLoader(None).replacements)


def test_no_model_differs_from_its_migrations() -> None:
    call_command("makemigrations", check=True, dry_run=True, verbosity=0)


def test_a_database_of_the_commit_before_goes_on() -> None:
    """It has the old names alone. No table is touched, and the new names are recorded."""
    before = recorded()
    for app, name in replacing():
        forget(app, name)
    call_command("migrate", verbosity=0)
    assert len(replacing()) == 12 and recorded() == before


@pytest.mark.parametrize("missing", [("chat", "0009_new_chats"), ("traces", "0001_initial")])
def test_an_older_database_is_refused_with_what_to_do(missing: tuple[str, str]) -> None:
    """One whose chats know nothing of `new_chats`, and one that lost the record of an early step."""
    for app, name in (missing, *replacing()):
        forget(app, name)
    before = recorded()
    with pytest.raises(CommandError, match=SENTENCE):
        call_command("migrate", verbosity=0)
    with pytest.raises(CannotStart, match=SENTENCE):
        migrate()
    assert recorded() == before

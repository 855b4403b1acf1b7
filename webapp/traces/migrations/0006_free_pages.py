"""What was deleted before SQLite overwrote deleted rows still stood in the free pages of its file."""

import logging

from django.db import DatabaseError, migrations

logger = logging.getLogger(__name__)


def rewrite_file(apps, schema_editor):
    """Takes as much free space as the file; a few seconds for each gigabyte."""
    if schema_editor.connection.vendor != "sqlite":
        return
    try:
        schema_editor.execute("VACUUM")
    except DatabaseError as error:
        logger.warning("free pages may still hold what was deleted (%s); run VACUUM on the database", error)


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("traces", "0005_what_is_deleted_is_gone")]

    operations = [migrations.RunPython(rewrite_file, migrations.RunPython.noop)]

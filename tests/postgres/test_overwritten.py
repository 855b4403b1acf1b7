"""After an erasure PostgreSQL's own files have neither deleted rows nor former versions of changed ones."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

WORD = "zqxjkvbpfour"
CHANGED = ("auth_user", "auditlog_logentry", "django_admin_log", "alerts_delivery", "accounts_session")
EMPTIED = "presets_preset"
CODE = "from webapp.operations.privacy.overwrite import overwrite; print(overwrite(['presets.preset']))"


@pytest.fixture
def database(postgres_url: str) -> Iterator[str]:
    """A database with the tables' names, whose rows had the word."""
    url = postgres_url.replace("/postgres?", "/overwritten?")
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("CREATE DATABASE overwritten")
        with psycopg.connect(url, autocommit=True) as client:
            for table in (*CHANGED, EMPTIED):
                client.execute(f"CREATE TABLE {table} (id int, name text)")
                client.execute(f"INSERT INTO {table} SELECT num, '{WORD}' FROM generate_series(1, 9) num")
            client.execute("ANALYZE")
            for table in CHANGED:
                client.execute(f"UPDATE {table} SET name = 'erased'")
            client.execute(f"DELETE FROM {EMPTIED}")
        yield url
        server.execute("DROP DATABASE overwritten WITH (FORCE)")


def overwrite(url: str) -> str:
    """Run it as the product does, on this database; return what it says."""
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", CODE]
    env = os.environ | {"SIGHTGLASS_DATABASE_URL": url}
    return subprocess.run(command, env=env, check=True, capture_output=True, text=True).stdout.strip()


def tables_with_word(url: str) -> set[str]:
    """The tables whose file has the word, anywhere."""
    with psycopg.connect(url, autocommit=True) as client:
        client.execute("CHECKPOINT")
        row = client.execute("SHOW data_directory").fetchone()
        assert row is not None
        found = client.execute("SELECT relname, pg_relation_filepath(oid) FROM pg_class WHERE relkind = 'r'").fetchall()
        in_public = {name: path for name, path in found if name in (*CHANGED, EMPTIED)}
        seen = {name for name, path in in_public.items() if WORD.encode() in Path(row[0], path).read_bytes()}
        shown = client.execute("SELECT tablename FROM pg_stats WHERE most_common_vals::text LIKE %s", [f"%{WORD}%"])
        return seen | {name for (name,) in shown.fetchall() if name != EMPTIED}


def test_no_former_version_of_a_row_is_left_in_the_files(database: str) -> None:
    assert tables_with_word(database) == {*CHANGED, EMPTIED}
    assert overwrite(database) == "True"
    assert tables_with_word(database) == set()


@pytest.mark.parametrize("statement", ["SELECT 1", f"LOCK TABLE {EMPTIED} IN ACCESS SHARE MODE"])
def test_a_reader_in_the_way_is_said(database: str, statement: str) -> None:
    """One that may still see a former version, and one that holds a table."""
    with psycopg.connect(database) as reader, psycopg.connect(database, autocommit=True) as writer:
        reader.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        reader.execute(statement)
        writer.execute("UPDATE auth_user SET name = 'erased again'")
        assert overwrite(database) == "False"
        reader.rollback()
        assert overwrite(database) == "True"

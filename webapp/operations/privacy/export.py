"""All that the product holds of a user as one ZIP file, of one moment. Knows nothing of HTTP.

The file is written to disk, piece by piece, while one read transaction stands: the user may go on chatting meanwhile.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import IO, Any

import msgspec
import zstandard
from django.conf import settings
from django.contrib.auth.models import User
from django.db import connection, transaction
from django.utils import timezone

from webapp.lifecycle.probes.models import Probe
from webapp.operations.privacy.audit_data import about
from webapp.operations.privacy.holdings import holdings
from webapp.operations.privacy.rows import file_of, name_of
from webapp.requests.models import Request
from webapp.surfaces.chat.exports import as_document
from webapp.surfaces.chat.models import Conversation
from webapp.traces.models import Trace

_AT_ONCE = 20
"""Traces fetched at once, of some MB each at most."""

_ABOUT = """\
All that Sightglass holds of {name}, as of {moment}.

account.json      the account
conversations/    each conversation with its messages; Sightglass imports these files
traces/           each saved request; Sightglass imports these files
probes/           each look into the model that was saved
records/          each table with rows of the account, a file each: JSON lines, and CSV for numbers of bills and use

The file holds no password, no key and no link's token. A CSV cell that a spreadsheet would compute begins with an
apostrophe.
"""
_RUNNING = """
Requests still running: {num}. Their answers and traces are not in this file; export again after their end:
{ids}
"""


def export(user: User) -> IO[bytes]:
    """Write the file, which has no name and ends with its last reader. Raises OSError when the disk is full."""
    file = tempfile.TemporaryFile(dir=settings.ENVIRONMENT.data)  # noqa: SIM115  the caller closes it
    try:
        with _one_moment(), zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
            _write(archive, user, timezone.now())
    except BaseException:
        file.close()
        raise
    file.seek(0)
    return file


@contextmanager
def _one_moment() -> Iterator[None]:
    """All reads see the database as it is at the first; no writer waits."""
    with transaction.atomic() if connection.vendor == "postgresql" else _deferred():
        if connection.vendor == "postgresql":
            with connection.cursor() as cursor:
                cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield


@contextmanager
def _deferred() -> Iterator[None]:
    """SQLite's read transaction. Django's own would take the lock of the writers."""
    with connection.cursor() as cursor:
        cursor.execute("BEGIN DEFERRED")
        try:
            yield
        finally:
            cursor.execute("ROLLBACK")


def _write(archive: zipfile.ZipFile, user: User, moment: datetime) -> None:
    running = list(Request.objects.filter(user=user, finished_at=None).values_list("pk", flat=True))
    readme = _ABOUT.format(name=user.username, moment=f"{moment:%Y-%m-%d %H:%M:%S} UTC")
    if running:
        readme += _RUNNING.format(num=len(running), ids="\n".join(running))
    archive.writestr("README.txt", readme)
    archive.writestr("account.json", _json(_account(user)))
    for conversation in Conversation.objects.filter(user=user).order_by("pk").iterator(_AT_ONCE):
        archive.writestr(f"conversations/{conversation.pk}.json", as_document(conversation, conversation.tree()))
    for trace in Trace.objects.filter(request__user=user).order_by("pk").iterator(_AT_ONCE):
        _store(archive, f"traces/{trace.pk}.sgtrace", bytes(trace.blob))
    for probe in Probe.objects.filter(trace__request__user=user).order_by("pk").iterator(_AT_ONCE):
        event = zstandard.ZstdDecompressor().stream_reader(bytes(probe.blob)).read()
        archive.writestr(f"probes/{probe.trace_id}-{probe.kind}-{probe.position}.json", event)
    for holding in (each for each in holdings() if each.is_exported):
        _stream(archive, name_of(holding), file_of(holding, user.pk))
    told = about(user.pk).values("timestamp", "actor_id", "changes", "additional_data")
    _stream(archive, "records/audit-log.jsonl", (msgspec.json.encode(entry) + b"\n" for entry in told.iterator(50)))


def _account(user: User) -> dict[str, Any]:
    names = ("username", "first_name", "last_name", "email", "date_joined", "last_login", "is_active", "is_staff")
    groups = list(user.groups.order_by("name").values_list("name", flat=True))
    return {"id": user.pk} | {name: getattr(user, name) for name in names} | {"groups": groups}


def _json(value: Any) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=1)


def _store(archive: zipfile.ZipFile, name: str, content: bytes) -> None:
    """Add what is packed already."""
    archive.writestr(zipfile.ZipInfo(name, timezone.now().timetuple()[:6]), content, zipfile.ZIP_STORED)


def _stream(archive: zipfile.ZipFile, name: str, pieces: Iterable[bytes]) -> None:
    """Add a file piece by piece; none where there is no piece."""
    pieces = iter(pieces)
    first = next(pieces, None)
    if first is None:
        return
    with archive.open(name, "w", force_zip64=True) as file:
        file.write(first)
        for piece in pieces:
            file.write(piece)

"""Lists the entries of the audit log, the newest first. Knows nothing of permissions."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Any

from auditlog.models import LogEntry

from webapp.ground.gateway.structs import Result

MAX_LISTED = 100
_ACTIONS = {
    LogEntry.Action.CREATE: "created",
    LogEntry.Action.UPDATE: "changed",
    LogEntry.Action.DELETE: "deleted",
    LogEntry.Action.ACCESS: "opened",
}


class Change(Result):
    """One value before and after."""

    name: str
    before: str | None
    """As text; null: there was no value."""
    after: str | None


class AuditEntry(Result):
    """One action."""

    id: int
    at: datetime
    actor: str | None
    """Name of the user who acted; null: the product itself, or a command."""
    action: str
    """In the past tense; the kind and the name of its subject follow it."""
    subject_kind: str
    subject_id: str
    subject: str
    """The subject's name at that time."""
    changes: list[Change]
    note: str
    """The operator's own reason; may be empty."""


class AuditLog(Result):
    """A part of the audit log, the newest entry first."""

    entries: list[AuditEntry]
    before: int | None
    """Id with which to ask for the next part; null: the log has no older entries."""


def listing(before: int | None = None, text: str = "", num: int = MAX_LISTED) -> AuditLog:
    """Return the newest entries.

    before: only entries older than this id. text: a part of the actor's name or of the subject's; empty: all.
    """
    found = LogEntry.objects.select_related("actor", "content_type").order_by("-pk")
    if before is not None:
        found = found.filter(pk__lt=before)
    if text:
        found = found.filter(object_repr__icontains=text) | found.filter(actor__username__icontains=text)
    rows = list(found[: num + 1])
    return AuditLog([_entry(row) for row in rows[:num]], rows[num - 1].pk if len(rows) > num else None)


def _entry(row: Any) -> AuditEntry:
    more = row.additional_data or {}
    return AuditEntry(
        id=row.pk,
        at=row.timestamp,
        actor=row.actor and row.actor.get_username(),
        action=more.get("action", _ACTIONS[row.action]),
        subject_kind=row.content_type.name,
        subject_id=row.object_pk,
        subject=row.object_repr,
        changes=_changes(row),
        note=more.get("note", ""),
    )


def _changes(row: Any) -> list[Change]:
    found = [_change(name, values) for name, values in (row.changes or {}).items()]
    for change in found:
        # The mark of a secret stands on both sides, also where there was no row.
        if row.action == LogEntry.Action.CREATE:
            change.before = None
        if row.action == LogEntry.Action.DELETE:
            change.after = None
    return [change for change in found if _tells(change)]


def _tells(change: Change) -> bool:
    """False for an empty field of a new row."""
    return change.before is not None or change.after not in (None, "")


def _change(name: str, values: Any) -> Change:
    match values:
        case {"operation": "add", "objects": objects}:
            return Change(name, None, _text(objects))
        case {"objects": objects}:
            return Change(name, _text(objects), None)
        case [before, after]:
            return Change(name, _text(before), _text(after))
    return Change(name, None, _text(values))


def _text(value: Any) -> str | None:
    match value:
        case None | str():
            return value
        case [*parts] if all(isinstance(part, str) for part in parts):
            return ", ".join(parts)
    return json.dumps(value)

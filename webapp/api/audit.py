"""The operation that shows the audit log to operators."""

from __future__ import annotations

from django.http import HttpRequest

from webapp.api.operators import checked_operator
from webapp.ground.audit.listing import AuditLog, listing
from webapp.ground.gateway.structs import Query

PERMISSION = "auditlog.view_logentry"
"""Allows an operator to read the audit log."""


class AuditQuery(Query):
    """A part of the audit log."""

    before: int | None = None
    """Only entries older than this id. Default: the newest."""
    text: str = ""
    """A part of the actor's name or of the subject's. Default: all entries."""


def show_audit_log(request: HttpRequest, query: AuditQuery) -> AuditLog:
    """Show the actions of operators, the newest first. 403 `forbidden` without the permission to view log entries."""
    checked_operator(request, PERMISSION, "Only operators with the permission to view log entries read the audit log.")
    return listing(query.before, query.text)

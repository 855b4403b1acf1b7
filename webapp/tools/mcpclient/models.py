"""The tables of the client: each server's last reading, and the definitions of its tools with their approvals."""

from __future__ import annotations

import difflib
from typing import ClassVar

from django.conf import settings
from django.db import models

from webapp.tools.mcpclient.configured import MAX_NAME
from webapp.tools.mcpclient.definition import Definition, visible


class McpServer(models.Model):
    """The last reading of one server's tools."""

    name = models.CharField(primary_key=True, max_length=MAX_NAME)
    read_at = models.DateTimeField(null=True)
    """The end of the last reading; null: there was none."""
    error = models.TextField(blank=True)
    """Why the last reading failed."""
    left_out = models.JSONField(default=list)
    """Tools that it listed and that cannot be offered, each with the reason."""

    class Meta:
        verbose_name = "MCP server"
        default_permissions: ClassVar = ("change",)
        ordering: ClassVar = ["name"]

    def __str__(self) -> str:
        return self.name


class McpTool(models.Model):
    """One definition of a tool. Another definition of the same tool is another row, which has no approval."""

    id = models.CharField(primary_key=True, max_length=64)
    """The definition's digest. An approval names it, so it approves what its operator saw."""
    server = models.CharField(max_length=MAX_NAME)
    name = models.CharField(max_length=128)
    definition = models.TextField()
    former = models.TextField(blank=True)
    """The definition that was approved before this one; empty: none was."""
    is_changed = models.BooleanField(default=False)
    """The server listed this tool otherwise before."""
    is_listed = models.BooleanField(default=True)
    """False: the last reading did not have it."""
    approved_at = models.DateTimeField(null=True)
    """Null: it is not approved, so it is neither offered nor called."""
    approver = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    asks_user = models.BooleanField(default=True)
    """Each call waits for its user. False only where server and operator both say that it changes nothing."""

    class Meta:
        verbose_name = "tool of an MCP server"
        verbose_name_plural = "tools of MCP servers"
        default_permissions: ClassVar = ("change",)
        ordering: ClassVar = ["server", "name"]
        constraints: ClassVar = [models.UniqueConstraint(fields=["server", "name"], name="a_definition_of_each_tool")]

    def __str__(self) -> str:
        return self.listed.full_name

    @property
    def listed(self) -> Definition:
        return Definition(self.server, self.name, self.definition, self.pk)

    @property
    def difference(self) -> str:
        """The lines in which it differs from the definition that was approved before."""
        if not self.former:
            return ""
        before, now = (visible(text).splitlines() for text in (self.former, self.definition))
        return "\n".join(difflib.unified_diff(before, now, "approved before", "listed now", lineterm="", n=1))

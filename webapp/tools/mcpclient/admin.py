"""The MCP servers and their tools among the admin's tables: read, approved and withdrawn, never made or changed."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from kombu.exceptions import OperationalError
from redis.exceptions import RedisError

from webapp.tools.mcpclient.approvals import approve, withdraw
from webapp.tools.mcpclient.configured import servers
from webapp.tools.mcpclient.definition import visible
from webapp.tools.mcpclient.models import McpServer, McpTool
from webapp.tools.mcpclient.tasks import read_task

_MOST_SHOWN = 300


class _Shown(admin.ModelAdmin):  # type: ignore[type-arg]
    """A table that is not edited by hand."""

    def has_view_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm(f"mcpclient.change_{self.opts.model_name}")

    def has_module_permission(self, request: HttpRequest) -> bool:
        return self.has_view_permission(request)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False


@admin.register(McpServer)
class McpServerAdmin(_Shown):
    """The servers of the operator's file, each with its last reading."""

    list_display = ("name", "target", "state", "read_at", "left_out_tools")
    list_display_links = None
    actions = ("read_tools",)

    def get_queryset(self, request: HttpRequest) -> QuerySet[McpServer]:
        known = super().get_queryset(request).filter(pk__in=list(servers()))
        missing = servers().keys() - set(known.values_list("pk", flat=True))
        McpServer.objects.bulk_create([McpServer(name=name) for name in missing], ignore_conflicts=True)
        return known

    @admin.display(description="target")
    def target(self, row: McpServer) -> str:
        return servers()[row.pk].shown

    @admin.display(description="state")
    def state(self, row: McpServer) -> str:
        if row.read_at is None:
            return "not read yet"
        return row.error or "reached"

    @admin.display(description="tools left out")
    def left_out_tools(self, row: McpServer) -> SafeString:
        return format_html("<pre>{}</pre>", "\n".join(map(visible, row.left_out)))

    @admin.action(description="Read the tools of the selected servers", permissions=["view"])
    def read_tools(self, request: HttpRequest, chosen: QuerySet[McpServer]) -> None:
        """A lifecycle worker reads them: it also makes the calls."""
        try:
            for row in chosen:
                read_task.delay(row.pk)
        except (OperationalError, RedisError, OSError):
            self.message_user(request, "The server's queue could not be reached.", "error")
            return
        self.message_user(request, "The servers are being read. Load this page again in some seconds.")


@admin.register(McpTool)
class McpToolAdmin(_Shown):
    """The tools that the servers list. A changed definition stands here without approval."""

    list_display = ("full_name", "state", "description", "effect", "approved_at")
    list_filter = ("server", ("approved_at", admin.EmptyFieldListFilter))
    fields = ("full_name", "state", "effect", "changes", "all_of_it", "approved_at", "approver")
    actions = ("approve_selected", "approve_without_asking", "withdraw_selected")

    def get_queryset(self, request: HttpRequest) -> QuerySet[McpTool]:
        return super().get_queryset(request).filter(server__in=list(servers()))

    @admin.display(description="tool")
    def full_name(self, row: McpTool) -> str:
        return row.listed.full_name

    @admin.display(description="state")
    def state(self, row: McpTool) -> str:
        if not row.is_listed:
            return "no longer listed"
        if row.approved_at is not None:
            return "offered, asks its user" if row.asks_user else "offered, runs without asking"
        if row.former:
            return "changed since it was approved"
        return "changed since it was first listed" if row.is_changed else "new, waits for approval"

    @admin.display(description="description")
    def description(self, row: McpTool) -> str:
        return visible(row.listed.tool().description)[:_MOST_SHOWN]

    @admin.display(description="by the server's word")
    def effect(self, row: McpTool) -> str:
        return "changes nothing" if row.listed.says_read_only else "may change something"

    @admin.display(description="what changed")
    def changes(self, row: McpTool) -> SafeString:
        return format_html("<pre>{}</pre>", row.difference or "Nothing was approved before.")

    @admin.display(description="definition")
    def all_of_it(self, row: McpTool) -> SafeString:
        return format_html("<pre>{}</pre>", visible(row.definition))

    @admin.action(description="Approve: each call waits for its user", permissions=["view"])
    def approve_selected(self, request: HttpRequest, chosen: QuerySet[McpTool]) -> None:
        self._approve(request, chosen, asks_user=True)

    @admin.action(description="Approve without asking the user, where the tool changes nothing", permissions=["view"])
    def approve_without_asking(self, request: HttpRequest, chosen: QuerySet[McpTool]) -> None:
        self._approve(request, chosen, asks_user=False)

    def _approve(self, request: HttpRequest, chosen: QuerySet[McpTool], asks_user: bool) -> None:
        """Approve the rows that the page named by their keys: all rows of a table may have others by now."""
        if request.POST.get("select_across", "0") != "0":
            self.message_user(request, "Nothing is approved. Select the tools one by one.", "error")
            return
        for row in chosen:
            approve(row, request.user.pk or 0, asks_user)

    @admin.action(description="Withdraw", permissions=["view"])
    def withdraw_selected(self, request: HttpRequest, chosen: QuerySet[McpTool]) -> None:
        for row in chosen:
            withdraw(row)

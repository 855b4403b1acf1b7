"""Reads the tools that a server lists, and keeps what is new in them. A changed tool loses its approval.

Only the process that runs calls, and an operator's command, open a session.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from typing import TYPE_CHECKING

from django.db import IntegrityError, transaction
from django.utils import timezone

from inference.grammar.check import CheckFailed, ChecksBusy, GrammarCheck
from inference.protocol.request import SamplingParams
from inference.protocol.tool_calls import ToolCalls
from webapp.tools.mcpclient.configured import Server
from webapp.tools.mcpclient.definition import Definition, definition_of
from webapp.tools.mcpclient.models import McpServer, McpTool

if TYPE_CHECKING:  # the SDK loads in a second, and few processes need it
    from mcp.client.session import ClientSession

    from webapp.tools.mcpclient.session import Bounds

_MOST_PAGES = 10
_MOST_TOOLS = 64
_MOST_JUDGED = 128
"""Tools of a listing that are looked at. A look may compile a schema, and a listing may have 85,000 tools."""
_MOST_LEFT_OUT = 64


def read(server: Server, bounds: Bounds | None = None) -> None:
    """Read the server's tools and keep them, or the reason why it could not be done. Raises ServersBusy."""
    from webapp.tools.mcpclient import session

    async def work(opened: ClientSession) -> list[Definition]:
        return await listed(server, opened)

    try:
        found = session.within_session(server, work, bounds or session.Bounds())
    except session.ServersBusy:
        raise
    except session.ServerProblem as error:
        McpServer.objects.update_or_create(
            pk=server.name, defaults={"read_at": timezone.now(), "error": server.without_secrets(str(error))}
        )
        return
    keep(server, found)


async def listed(server: Server, session: ClientSession) -> list[Definition]:
    """Return all that the server lists, also what cannot be offered. Raises as the session."""
    from mcp_types import PaginatedRequestParams

    found: list[Definition] = []
    cursor: str | None = None
    for _ in range(_MOST_PAGES):
        page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
        wire = (each.model_dump(by_alias=True, mode="json", exclude_none=True) for each in page.tools)
        found += [definition_of(server, members) for members in wire]
        cursor = page.next_cursor
        if cursor is None:
            break
    return found


def keep(server: Server, found: Sequence[Definition]) -> None:
    """Keep a listing. Another process may keep the same one at this moment."""
    known = set(McpTool.objects.filter(server=server.name).values_list("pk", flat=True))
    usable, left_out = _judged(server, found, known)
    try:
        with transaction.atomic():
            _keep_tools(server.name, usable)
            McpServer.objects.update_or_create(
                pk=server.name, defaults={"read_at": timezone.now(), "error": "", "left_out": left_out}
            )
    except IntegrityError:
        pass


def _judged(server: Server, found: Sequence[Definition], known: Iterable[str]) -> tuple[list[Definition], list[str]]:
    times = Counter(each.name for each in found)
    usable, left_out = list[Definition](), list[str]()
    for each in found[:_MOST_JUDGED]:
        problem: str | None = f"a server may have {_MOST_TOOLS} tools"
        if len(usable) < _MOST_TOOLS:
            problem = _secret_problem(server, each) or _problem(each, times[each.name], each.digest in known)
        if problem is None:
            usable.append(each)
        else:
            left_out.append(f"{server.without_secrets(each.name)[:60]!a}: {problem}")
    if len(found) > _MOST_JUDGED:
        left_out = [*left_out[: _MOST_LEFT_OUT - 1], _beyond(len(found) - _MOST_JUDGED)]
    return usable, left_out[:_MOST_LEFT_OUT]


def _beyond(num_tools: int) -> str:
    return f"{num_tools:,} more tools: the server lists more than {_MOST_JUDGED}"


def _secret_problem(server: Server, definition: Definition) -> str | None:
    """The texts of a definition have none; a name in another form would be the name of another thing."""
    if server.without_secrets(definition.name) != definition.name:
        return "its name has a secret of the server's"
    if any(server.without_secrets(key) != key for key in definition.member_names()):
        return "a key of its definition has a secret of the server's"
    return None


def _problem(definition: Definition, num_times: int, is_known: bool) -> str | None:
    if num_times > 1:
        return "it is listed more than once"
    return definition.problem() or (None if is_known else _grammar_problem(definition))


def _grammar_problem(definition: Definition) -> str | None:
    try:
        calls = ToolCalls(tools=(definition.tool(),))
        problem = _grammar_check().problem(SamplingParams(tool_calls=calls))
    except (ChecksBusy, CheckFailed):
        return "its schema could not be checked now; read the server again"
    return None if problem is None else f"its schema {problem.text[:500].replace(chr(0), '')}"


@cache
def _grammar_check() -> GrammarCheck:
    return GrammarCheck()


def _keep_tools(server: str, usable: Iterable[Definition]) -> None:
    rows = {row.name: row for row in McpTool.objects.filter(server=server)}
    for each in usable:
        row = rows.pop(each.name, None)
        if row is None or row.pk != each.digest:
            _replace(row, each)
        elif not row.is_listed:
            McpTool.objects.filter(pk=row.pk).update(is_listed=True)
    left = [row.pk for row in rows.values()]
    McpTool.objects.filter(pk__in=left, approved_at=None).delete()
    McpTool.objects.filter(pk__in=left).update(is_listed=False)


def _replace(row: McpTool | None, new: Definition) -> None:
    former = "" if row is None else row.definition if row.approved_at else row.former
    if row is not None:
        row.delete()
    McpTool.objects.create(
        pk=new.digest,
        server=new.server,
        name=new.name,
        definition=new.text,
        former=former,
        is_changed=row is not None,
    )

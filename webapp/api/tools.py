"""Operations on the tools that the server runs."""

from __future__ import annotations

from django.http import HttpRequest

from webapp.ground.gateway.errors import user_id
from webapp.ground.gateway.structs import Result
from webapp.tools.catalog import offered
from webapp.tools.tool import ServerTool


class OfferedTool(Result):
    """A tool that a conversation may use."""

    name: str
    """Its name in calls."""
    label: str
    """Its name for people."""
    description: str
    """Its purpose, as the model reads it."""
    parameters: str
    """JSON Schema (as JSON text) of its arguments."""
    needs_approval: bool
    """True where it changes something: each call waits until the user has approved it."""
    unavailable: str
    """What this server lacks to run it; empty: nothing."""


class OfferedTools(Result):
    """The tools of the server, in the order in which a prompt lists them."""

    tools: list[OfferedTool]


def list_tools(request: HttpRequest) -> OfferedTools:
    """List the tools that a conversation may use."""
    user_id(request)
    return OfferedTools([_offered(each) for each in offered()])


def _offered(tool: ServerTool) -> OfferedTool:
    own = tool.definition
    return OfferedTool(
        own.name, tool.label, own.description, own.parameters, tool.needs_approval, unavailable=tool.lacks()
    )

"""Operations on the tools that the server runs."""

from __future__ import annotations

from django.http import HttpRequest

from webapp.gateway.errors import user_id
from webapp.gateway.structs import Result
from webapp.tools.catalog import TOOLS
from webapp.tools.tool import BuiltIn


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


class OfferedTools(Result):
    """The tools of the server, in the order in which a prompt lists them."""

    tools: list[OfferedTool]


def list_tools(request: HttpRequest) -> OfferedTools:
    """List the tools that a conversation may use."""
    user_id(request)
    return OfferedTools([_offered(each) for each in TOOLS.values()])


def _offered(tool: BuiltIn) -> OfferedTool:
    own = tool.definition
    return OfferedTool(own.name, tool.label, own.description, own.parameters)

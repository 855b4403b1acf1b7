"""Our own export, as webapp/surfaces/chat/exports.py writes it. Bytes in, a draft out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from inference.protocol.request import SamplingParams
from webapp.ground.gateway.errors import ApiError
from webapp.models.registry.offered import default_id
from webapp.requests.params import checked_params
from webapp.surfaces.chat.exports import VERSION
from webapp.surfaces.chat.imports import marks
from webapp.surfaces.chat.imports.tree import Draft, ImportProblem, Node
from webapp.surfaces.chat.models import MAX_ANSWERS
from webapp.tools.catalog import names


class _Message(msgspec.Struct):
    id: str
    role: Literal["user", "assistant"]
    text: str
    parent_id: str | None = None
    created_at: str | None = None
    model: str | None = None


class _Conversation(msgspec.Struct):
    version: int
    messages: list[_Message]
    id: str = ""
    title: str = ""
    system_prompt: str = ""
    params: SamplingParams = SamplingParams()
    n: int = 1
    tools: list[str] = []
    is_pinned: bool = False
    created_at: str | None = None
    updated_at: str | None = None
    leaf_id: str | None = None


def read(data: bytes) -> Draft:
    """Read one conversation. Raises ImportProblem, msgspec.ValidationError, msgspec.DecodeError."""
    found = msgspec.json.decode(data, type=_Conversation)
    if found.version != VERSION:
        raise ImportProblem(f"It is of version {found.version}; this server reads version {VERSION}.")
    if not 1 <= found.n <= MAX_ANSWERS:
        raise ImportProblem(f"n must be between 1 and {MAX_ANSWERS}.")
    return Draft(
        title=found.title,
        nodes=[
            Node(each.id, each.parent_id, each.role, each.text, marks.moment(each.created_at), each.model or "")
            for each in found.messages
        ],
        id=found.id,
        shown=found.leaf_id,
        created_at=marks.moment(found.created_at),
        updated_at=marks.moment(found.updated_at),
        system_prompt=found.system_prompt,
        is_pinned=found.is_pinned,
        params=_checked(found.params),
        n=found.n,
        tools=_known(found.tools),
    )


def _known(tools: Sequence[str]) -> list[str]:
    """Those of the tools that this server has, each once: the file may come from another one."""
    known = names()
    return [name for name in dict.fromkeys(tools) if name in known]


def _checked(params: SamplingParams) -> SamplingParams:
    try:
        return checked_params(params, default_id())
    except ApiError as error:
        raise ImportProblem(str(error)) from None

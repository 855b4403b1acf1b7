"""A response as it begins: what its request's row and its body tell. Pure."""

from __future__ import annotations

from typing import Any

import msgspec

from inference.protocol.request import SamplingParams
from webapp.api.openai.caching import applied
from webapp.api.openai.responses.answer import Response
from webapp.api.openai.responses.ids import response_id
from webapp.api.openai.responses.parse import has_logprobs
from webapp.api.openai.responses.projection import ResponseProjection
from webapp.api.openai.responses.shapes import ResponseBody
from webapp.requests.models import Request


def projection_of(request: Request, body: ResponseBody) -> ResponseProjection:
    """Return the projection of the request's events as a response."""
    num_top = (body.top_logprobs or 0) if has_logprobs(body) else None
    return ResponseProjection(_response(request, body), request.pk, num_top)


def _response(request: Request, body: ResponseBody) -> Response:
    params = msgspec.convert(request.params, SamplingParams)
    return Response(
        id=response_id(request.pk),
        created_at=request.accepted_unix_us // 1_000_000,
        status="queued" if body.background else "in_progress",
        background=bool(body.background),
        instructions=body.instructions,
        max_output_tokens=body.max_output_tokens,
        max_tool_calls=body.max_tool_calls,
        metadata=body.metadata or {},
        model=request.model,
        parallel_tool_calls=body.parallel_tool_calls is not False,
        previous_response_id=body.previous_response_id,
        prompt_cache_key=body.prompt_cache_key,
        prompt_cache_options=applied(body.prompt_cache_options),
        reasoning={"effort": None, "summary": None} | (body.reasoning or {}),
        safety_identifier=body.safety_identifier,
        store=body.store is not False,
        temperature=params.temperature,
        text=_text(body),
        tool_choice=body.tool_choice or "auto",
        tools=[_tool(each) for each in body.tools or ()],
        top_logprobs=body.top_logprobs or 0,
        top_p=params.top_p,
        truncation=body.truncation or "disabled",
        user=body.user,
    )


def _text(body: ResponseBody) -> dict[str, Any]:
    form = None if body.text is None else body.text.format
    given: dict[str, Any] = {"type": "text"} if form is None else msgspec.to_builtins(form)
    verbosity = None if body.text is None else body.text.verbosity
    return {"format": given, "verbosity": verbosity or "medium"}


def _tool(given: dict[str, Any]) -> dict[str, Any]:
    """The tool with the fields that its form always has."""
    return {"description": None, "parameters": None, "strict": None} | given

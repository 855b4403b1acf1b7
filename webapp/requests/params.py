"""Refuses sampling parameters that the engine could not follow, before anything is queued."""

from __future__ import annotations

from functools import cache

from inference.grammar.check import GrammarCheck
from inference.protocol.request import Problem, SamplingParams
from inference.tokenization.gguf_metadata import TokenizerError
from inference.tokenization.template_process import TemplateError
from webapp.ground.gateway.errors import ApiError, FieldProblem, all_of
from webapp.requests import services

_GRAMMAR = ("json_schema", "regex", "tool_calls")


_NO_ANSWER = Problem("max_tokens", "must be 1 or more")


def checked_params(params: SamplingParams, model: str, may_be_empty: bool = False) -> SamplingParams:
    """Check the params for this model and return them. Raises ApiError, which names every problem, one per field.

    may_be_empty: a request for no answer, which reads the prompt into the cache, is no mistake.
    """
    is_empty = params.max_tokens == 0 and not may_be_empty
    found = [
        *params.problems(),
        _id_problem(params, model),
        _thinking_problem(params, model),
        _nul_problem(params),
        _NO_ANSWER if is_empty else None,
    ]
    if not any(problem and problem.field in _GRAMMAR for problem in found):
        found.append(_grammar_problem(params))
    first = {problem.field: problem for problem in reversed(found) if problem}
    if first:
        raise all_of(
            [ApiError(400, "invalid", f"{each}.", f"params.{each.field}") for each in reversed(first.values())]
        )
    return params


def window_notes(params: SamplingParams, model: str) -> tuple[FieldProblem, ...]:
    """Notes on params that are accepted but limited by the window."""
    try:
        window = services.prompt_services(model).window
    except (TokenizerError, TemplateError):
        return ()
    if params.max_tokens < window:
        return ()
    message = (
        f"max_tokens is more than this model can give: its window holds {window:,} tokens, prompt and answer together."
    )
    return (FieldProblem(message=message, field="params.max_tokens"),)


def _id_problem(params: SamplingParams, model: str) -> Problem | None:
    if not (params.logit_bias or params.banned_token_ids or params.stop_token_ids):
        return None
    try:
        num_ids = services.prompt_services(model).num_ids
    except (TokenizerError, TemplateError) as error:
        raise ApiError(503, "model_unavailable", str(error)) from None
    return params.id_problem(num_ids)


def _grammar_problem(params: SamplingParams) -> Problem | None:
    if all(getattr(params, field) is None for field in _GRAMMAR):
        return None
    return _grammar_check().problem(params)


def _thinking_problem(params: SamplingParams, model: str) -> Problem | None:
    if params.thinking_tokens is None:
        return None
    try:
        found = services.prompt_services(model)
    except (TokenizerError, TemplateError) as error:
        raise ApiError(503, "model_unavailable", str(error)) from None
    if found.tokenizer.thinking is None:
        return Problem("thinking_tokens", "is for models that think, and this one does not; leave it out")
    if params.thinking_tokens and not services.can_end_thinking(model):
        return Problem("thinking_tokens", "is not kept by the server behind this model; leave it out, or give 0")
    return None


def _nul_problem(params: SamplingParams) -> Problem | None:
    descriptions = [] if params.tool_calls is None else [tool.description for tool in params.tool_calls.tools]
    lists = {"dry_sequence_breakers": params.dry_sequence_breakers, "tool_calls": descriptions}
    texts = lists | {"stop": params.stop, "json_schema": (params.json_schema,), "regex": (params.regex,)}
    places = ((name, (text or "").find("\x00")) for name, values in texts.items() for text in values)
    told = "has a NUL, which is invisible, as character {:,}; remove it"
    return next((Problem(name, told.format(place + 1)) for name, place in places if place >= 0), None)


@cache
def _grammar_check() -> GrammarCheck:
    return GrammarCheck()

"""Refuses sampling parameters that the engine could not keep to, before anything is queued."""

from __future__ import annotations

from functools import cache

from inference.grammar.check import GrammarCheck
from inference.protocol.request import Problem, SamplingParams
from inference.tokenization.chat_template import TemplateError
from inference.tokenization.gguf_metadata import TokenizerError
from webapp.gateway.errors import ApiError
from webapp.lifecycle import services


def checked_params(params: SamplingParams) -> SamplingParams:
    """Raises ApiError."""
    problem = params.problem() or _id_problem(params) or _grammar_problem(params) or _nul_problem(params)
    if problem:
        raise ApiError(400, "invalid", f"{problem}.", f"params.{problem.field}")
    return params


def _id_problem(params: SamplingParams) -> Problem | None:
    if not (params.logit_bias or params.banned_token_ids or params.stop_token_ids):
        return None
    try:
        num_ids = services.prompt_services().num_ids
    except (TokenizerError, TemplateError) as error:
        raise ApiError(503, "model_unavailable", str(error)) from None
    return params.id_problem(num_ids)


def _grammar_problem(params: SamplingParams) -> Problem | None:
    if params.json_schema is None and params.regex is None:
        return None
    return _grammar_check().problem(params)


def _nul_problem(params: SamplingParams) -> Problem | None:
    texts = {"stop": params.stop, "json_schema": (params.json_schema,), "regex": (params.regex,)}
    found = (name for name, values in texts.items() if any("\x00" in (text or "") for text in values))
    name = next(found, None)
    return None if name is None else Problem(name, "has a NUL character; remove it")


@cache
def _grammar_check() -> GrammarCheck:
    return GrammarCheck()

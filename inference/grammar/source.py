"""A request's constraint in the grammar library's own form."""

from __future__ import annotations

from typing import TYPE_CHECKING

from llguidance import LLMatcher

from inference.grammar.bounds import patterns_of, problem_of
from inference.grammar.tools import tool_grammar
from inference.protocol.failures import GrammarError
from inference.protocol.request import SamplingParams

if TYPE_CHECKING:
    from llguidance._lib import JsonCompileOptions

LIMITS = {"verbose_errors": False, "max_lexer_states": 50_000}
"""The library's own bounds on work per mask, with no parser details in its errors. A state takes 2 kB."""

_JSON: JsonCompileOptions = {
    # Other white space would let a weak model go on for ever without breaking the schema.
    "whitespace_pattern": r"\n {0,32}| ",
    "lenient": False,
}


def field_of(params: SamplingParams) -> str:
    """Return the name of the setting that holds the constraint."""
    if params.tool_calls is not None:
        return "tool_calls"
    return "json_schema" if params.json_schema is not None else "regex"


def is_lenient(params: SamplingParams) -> bool:
    """Return whether the grammar may ignore a keyword of a schema that it cannot keep to."""
    return params.tool_calls is not None and not all(tool.is_strict for tool in params.tool_calls.tools)


def source(params: SamplingParams) -> str | None:
    """Return the grammar; None without a constraint. Raises GrammarError where no compilation is needed to see it."""
    if problem := _size_problem(params):
        raise GrammarError(problem)
    if params.tool_calls is not None:
        return tool_grammar(params.tool_calls, params.json_schema)
    if params.json_schema is not None:
        try:
            return LLMatcher.grammar_from_json_schema(params.json_schema, overrides=_JSON)
        except ValueError as error:
            raise GrammarError(f"it must be a JSON object; {error}") from None
    return None if params.regex is None else LLMatcher.grammar_from_regex(params.regex)


def _size_problem(params: SamplingParams) -> str | None:
    """Return the problem of a regular expression that is too large, also of one within the schema."""
    if params.regex is not None:
        return problem_of(params.regex)
    tools = () if params.tool_calls is None else params.tool_calls.tools
    schemas = [params.json_schema or "{}", *(tool.parameters for tool in tools)]
    try:
        problems = (problem_of(pattern) for schema in schemas for pattern in patterns_of(schema))
        return next((f"in one of its patterns {problem}" for problem in problems if problem), None)
    except (ValueError, RecursionError):  # the library refuses it in words
        return None


def summary_of(message: str) -> str:
    """Return the library's message without its drawing of the error's place."""
    lines = [line.strip() for line in message.splitlines() if line.strip()]
    told = [line.removeprefix("error: ") for line in lines if line.startswith("error: ")]
    return (told or [line.rpartition("(in regex): ")[2] for line in lines] or ["unknown"])[0]

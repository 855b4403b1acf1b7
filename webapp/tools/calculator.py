"""Arithmetic on numbers, by simpleeval: without names, functions and attributes."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from typing import Any

from simpleeval import InvalidExpression, SimpleEval

from inference.protocol.tool_calls import Tool
from webapp.tools.tool import BuiltIn, ToolError

_SIGNIFICANT_DIGITS = 15
"""A float has no more that are sure."""
_MOST_DIGITS = 100
"""Digits of a whole number's result."""
_NUMBER = r"-?\(*[0-9]{1,15}(\.[0-9]{1,15})?\)*"
_WRITTEN = rf"{_NUMBER}( ?(\*\*|[-+*/%]) ?{_NUMBER}){{0,15}}"
"""The form to which a model is held: numbers and signs by turns. Only its brackets may not pair."""
_EXPRESSION = r"[0-9+\-*/%(). ]{1,100}"
_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "^": "**"})


def calculate(arguments: Mapping[str, Any]) -> str:
    """Return the value of an arithmetic expression. Whole numbers are exact. Raises ToolError."""
    expression = str(arguments["expression"]).translate(_SIGNS)
    if re.fullmatch(_EXPRESSION, expression) is None:
        raise ToolError(f"{expression[:200]!r} is no arithmetic. Use numbers, brackets and + - * / % ** alone.")
    try:
        value: Any = SimpleEval(functions={}, names={}).eval(expression)
    except (InvalidExpression, SyntaxError, ArithmeticError, ValueError, TypeError) as error:
        raise ToolError(f"{expression[:200]} has no value: {error}") from None
    return _number(value, expression)


def _number(value: Any, expression: str) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ToolError(f"{expression[:200]} is no finite real number.")
    if isinstance(value, float):
        return f"{value:.{_SIGNIFICANT_DIGITS}g}"
    if abs(value) >= 10**_MOST_DIGITS:
        raise ToolError(f"The result has more than {_MOST_DIGITS} digits.")
    return str(value)


CALCULATOR = BuiltIn(
    Tool(
        name="calculator",
        description="Computes an arithmetic expression.",
        parameters=json.dumps(
            {
                "type": "object",
                "properties": {"expression": {"type": "string", "pattern": f"^{_WRITTEN}$"}},
                "required": ["expression"],
                "additionalProperties": False,
            }
        ),
        is_strict=True,
    ),
    "Calculator",
    calculate,
)

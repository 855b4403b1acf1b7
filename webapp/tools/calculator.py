"""Arithmetic on numbers, by simpleeval: without names, functions and attributes."""

from __future__ import annotations

import ast
import json
import math
import operator
import re
from collections.abc import Mapping
from typing import Any

from simpleeval import InvalidExpression, SimpleEval

from inference.protocol.tool_calls import Tool
from webapp.tools.tool import Asker, BuiltIn, ToolError

_SIGNIFICANT_DIGITS = 15
"""A float has no more that are sure."""
_MOST_DIGITS = 100
"""Digits of a whole number's result."""
_MOST_BITS = 4000
"""Bits of a whole number between two signs. The text's length bounds how many such numbers there are."""
_NUMBER = r"-?\(*[0-9]{1,15}(\.[0-9]{1,15})?\)*"
_WRITTEN = rf"{_NUMBER}( ?(\*\*|[-+*/%]) ?{_NUMBER}){{0,15}}"
"""The form to which a model is held: numbers and signs by turns. Only its brackets may not pair."""
_EXPRESSION = r"[0-9+\-*/%(). ]{1,100}"
_SIGNS = str.maketrans({"×": "*", "÷": "/", "−": "-", "^": "**"})


def calculate(arguments: Mapping[str, Any], _: Asker) -> str:
    """Return the value of an arithmetic expression. Whole numbers are exact. Raises ToolError."""
    expression = str(arguments["expression"]).translate(_SIGNS)
    if re.fullmatch(_EXPRESSION, expression) is None:
        raise ToolError(f"{expression[:200]!r} is no arithmetic. Use numbers, brackets and + - * / % ** alone.")
    try:
        value: Any = SimpleEval(operators=_OPERATORS, functions={}, names={}).eval(expression)
    except (InvalidExpression, SyntaxError, ArithmeticError, ValueError, TypeError, MemoryError) as error:
        raise ToolError(f"{expression[:200]} has no value: {error}") from None
    return _number(value, expression)


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(base, int) and isinstance(exponent, int):
        _check_bits(base.bit_length() * exponent)
    return base**exponent


def _product(left: Any, right: Any) -> Any:
    if isinstance(left, int) and isinstance(right, int):
        _check_bits(left.bit_length() + right.bit_length())
    return left * right


def _check_bits(num_bits: int) -> None:
    """A whole number is computed without a pause, in which nothing else of the process would run."""
    if num_bits > _MOST_BITS:
        raise ToolError(f"A number in it is too large to compute: it has more than {_MOST_BITS} bits.")


_OPERATORS = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: _product,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.Pow: _power,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
}


def _number(value: Any, expression: str) -> str:
    if isinstance(value, float) and math.isfinite(value):
        return f"{value:.{_SIGNIFICANT_DIGITS}g}"
    if not isinstance(value, int):
        raise ToolError(f"{expression[:200]} is no finite real number.")
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

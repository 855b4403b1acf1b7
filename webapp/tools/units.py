"""Conversion between units of measurement, by pint."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from inference.protocol.tool_calls import Tool
from webapp.tools.tool import Asker, BuiltIn, ToolError

_UNIT = r"[A-Za-z]{1,24}(\^[1-9])?([*/][A-Za-z]{1,24}(\^[1-9])?){0,3}"
"""Names, products, quotients and small powers: what pint would compute beyond them may take for ever."""


def convert(arguments: Mapping[str, Any], _: Asker) -> str:
    """Return the value in the other unit. Raises ToolError."""
    value, source, target = _finite(arguments["value"]), str(arguments["from"]), str(arguments["to"])
    for unit in (source, target):
        if re.fullmatch(_UNIT, unit) is None:
            raise ToolError(f"{unit[:100]!r} is no unit. Use names such as km, mile, degC or kg*m/s^2.")
    units = _registry()
    try:
        found = units.Quantity(value, units.parse_units(source)).to(units.parse_units(target))
        return f"{_finite(found.magnitude):.12g} {found.units}"
    except ToolError:
        raise
    except Exception as error:  # each fault of a unit has a class of its own, also of other libraries
        raise ToolError(f"{source} cannot be converted to {target}: {error}") from None


def _finite(value: Any) -> float:
    try:
        found = float(value)
    except OverflowError:
        found = math.inf
    if not math.isfinite(found):
        raise ToolError("The value, or what it would be in the other unit, is no finite number.")
    return found


@cache
def _registry() -> Any:
    """Loaded with the first call, since it takes a second."""
    from pint import UnitRegistry

    return UnitRegistry()


CONVERT_UNITS = BuiltIn(
    Tool(
        name="convert_units",
        description="Converts a value between units, such as km, mile, degC, degF, kg or lb.",
        parameters=json.dumps(
            {
                "type": "object",
                "properties": {
                    "value": {"type": "number"},
                    "from": {"type": "string", "pattern": f"^{_UNIT}$"},
                    "to": {"type": "string", "pattern": f"^{_UNIT}$"},
                },
                "required": ["value", "from", "to"],
                "additionalProperties": False,
            }
        ),
        is_strict=True,
    ),
    "Unit conversion",
    convert,
)

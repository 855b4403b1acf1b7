"""Conversion between units of measurement, by pint."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from inference.protocol.tool_calls import Tool
from webapp.tools.tool import BuiltIn, ToolError

_UNIT = r"[A-Za-z]{1,24}(\^[1-9])?([*/][A-Za-z]{1,24}(\^[1-9])?){0,3}"
"""Names, products, quotients and small powers: what pint would compute beyond them may take for ever."""


def convert(arguments: Mapping[str, Any]) -> str:
    """Return the value in the other unit. Raises ToolError."""
    value, source, target = float(arguments["value"]), str(arguments["from"]), str(arguments["to"])
    for unit in (source, target):
        if re.fullmatch(_UNIT, unit) is None:
            raise ToolError(f"{unit[:100]!r} is no unit. Use names such as km, mile, degC or kg*m/s^2.")
    units = _registry()
    try:
        found = units.Quantity(value, units.parse_units(source)).to(units.parse_units(target))
        return f"{found.magnitude:.12g} {found.units}"
    except Exception as error:  # each fault of a unit has a class of its own, also of other libraries
        raise ToolError(f"{source} cannot be converted to {target}: {error}") from None


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

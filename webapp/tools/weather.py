"""A demonstration of a tool that answers for a place: made data, the same for the same city, and said to be made."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from inference.protocol.tool_calls import Tool
from webapp.tools.tool import Asker, BuiltIn, ToolError

_LABEL = "Demonstration, made from the name of the city. This is not real weather."
_SKIES = ("clear", "cloudy", "light rain", "rain", "fog", "snow showers", "thunderstorm")


def demo_weather(arguments: Mapping[str, Any], _: Asker) -> str:
    """Return made weather of a city. Raises ToolError."""
    city = " ".join(str(arguments["city"]).split())[:60]
    if not city:
        raise ToolError("Name a city.")
    made = hashlib.sha256(city.casefold().encode()).digest()
    sky, degrees, wind = _SKIES[made[0] % len(_SKIES)], made[1] % 36 - 5, made[2] % 60
    return f"{city}: {sky}, {degrees} °C, wind {wind} km/h. ({_LABEL})"


DEMO_WEATHER = BuiltIn(
    Tool(
        name="demo_weather",
        description="A demonstration: gives made weather of a city, not real weather.",
        parameters=json.dumps(
            {
                "type": "object",
                "properties": {"city": {"type": "string", "minLength": 1, "maxLength": 60}},
                "required": ["city"],
                "additionalProperties": False,
            }
        ),
        is_strict=True,
    ),
    "Weather (demonstration)",
    demo_weather,
)

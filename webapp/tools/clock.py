"""The current date and time in a time zone, by the server's clock."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from inference.protocol.tool_calls import Tool
from webapp.tools.tool import Asker, BuiltIn, ToolError

_ZONE = r"[A-Za-z_]{1,20}(/[A-Za-z_+\-0-9]{1,20}){0,2}"


def current_time(arguments: Mapping[str, Any], _: Asker) -> str:
    """Return the time in ISO 8601 with the day of the week. zone: a name of the IANA time zone database.

    Raises ToolError.
    """
    zone = str(arguments["zone"])
    try:
        now = datetime.now(ZoneInfo(zone))
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise ToolError(f"{zone[:100]!r} is no time zone. Use a name such as Europe/Zurich or UTC.") from None
    return f"{now:%A}, {now.isoformat(timespec='seconds')}"


CURRENT_TIME = BuiltIn(
    Tool(
        name="current_time",
        description="Tells the current date and time in a time zone, such as Europe/Zurich or UTC.",
        parameters=json.dumps(
            {
                "type": "object",
                "properties": {"zone": {"type": "string", "pattern": f"^{_ZONE}$"}},
                "required": ["zone"],
                "additionalProperties": False,
            }
        ),
        is_strict=True,
    ),
    "Current time",
    current_time,
)

"""JSON that a person pasted: its value, or the place of its first fault. Pure."""

from __future__ import annotations

import json
from typing import Any

from webapp.ground.gateway.json_faults import fault_in


class Malformed(Exception):
    """The text is not valid JSON. The message names the place."""


def parse(text: str) -> Any:
    """Raises Malformed."""
    if (fault := fault_in(text)) is not None:
        raise Malformed(fault)
    return json.loads(text)

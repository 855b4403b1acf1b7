"""Addresses of the APIs of other families: below /v1/, and below /record/<name>/v1/, which also records the calls.

Both have the same operations. Knows nothing of recordings.
"""

from __future__ import annotations

import re

FAMILIES = "/v1/"
_RECORDED = re.compile(r"/record/[^/]*(?=/v1(?:/|$))")


def without_recording(path: str) -> str:
    """The same address without a recording's name: `/record/agent/v1/models` is `/v1/models`."""
    found = _RECORDED.match(path)
    return path if found is None else path[found.end() :]


def is_of_family(path: str) -> bool:
    """True: other people's clients ask this address, and only a key signs in there."""
    return without_recording(path).startswith(FAMILIES)

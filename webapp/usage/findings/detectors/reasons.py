"""Why some requests cost more than usual: their number, their model, their input, their cache. Pure."""

from __future__ import annotations

from webapp.usage.findings.history import Use
from webapp.usage.findings.words import counted, only, percent, times

_MORE = 1.3
_FALL = 0.15
"""Of the share that comes from the cache."""


def reasons(now: Use, usual: Use, num_usual: float, usually: str) -> list[str]:
    """Return a sentence per reason. num_usual: requests of as long a time; usually: names what is usual."""
    found = []
    if num_usual and now.num_requests > num_usual * _MORE:
        ratio = now.num_requests / num_usual
        found.append(f"{usually} has {counted(num_usual, 'request')}, so there were {times(ratio)} as many.")
    if not usual.num_requests or not now.num_requests:
        return found
    if usual.known_input and now.known_input and usual.cached_share - now.cached_share > _FALL:
        shares = f"{only(now.cached_share)} of the input came from the cache, against {percent(usual.cached_share)}"
        found.append(f"{shares} on usual days.")
    for name, each, usually_each in (
        ("read", now.input / now.num_requests, usual.input / usual.num_requests),
        ("wrote", now.output / now.num_requests, usual.output / usual.num_requests),
    ):
        if usually_each and each > usually_each * _MORE:
            ratio = each / usually_each
            found.append(f"Each request {name} {counted(each, 'token')}, {times(ratio)} as many as usual.")
    return found

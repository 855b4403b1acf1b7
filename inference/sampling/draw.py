"""The uniform draw of each position: counter-based, so that it depends on (seed, position) alone.

SplitMix64's output function (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014)
applied to seed + (position + 1) * golden gamma; the top 53 bits make a double in [0, 1). Any language with 64-bit
integers gets the same numbers.
"""

from __future__ import annotations

_MASK = (1 << 64) - 1
_GOLDEN_GAMMA = 0x9E3779B97F4A7C15


def _mix(value: int) -> int:
    value = ((value ^ (value >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    value = ((value ^ (value >> 27)) * 0x94D049BB133111EB) & _MASK
    return value ^ (value >> 31)


def uniform(seed: int, position: int) -> float:
    """Return the draw for generated token `position` (from 0): a double in [0, 1)."""
    # The seed is mixed first, or neighbouring seeds would give each other's draws one position later.
    return (_mix((_mix(seed) + (position + 1) * _GOLDEN_GAMMA) & _MASK) >> 11) * 2.0**-53

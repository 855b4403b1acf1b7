"""The errors of a sequence for which no token can be chosen."""

from __future__ import annotations


class SamplingFailed(Exception):
    """This sequence cannot go on; the message says why."""


class NonFiniteLogits(SamplingFailed):
    """The model returned NaN or infinity."""

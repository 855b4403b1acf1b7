"""Lets msgspec learn the fields of all structs before a process has threads. Knows nothing of the structs.

msgspec 0.22 learns a struct's fields at its first decoding. Two threads that decode a struct for the first time at once
end the process by SIGSEGV: one uses what the other has not finished.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import msgspec


def prepare_structs() -> None:
    """Learn the fields of every struct whose module is loaded. To be called by one thread, before all others."""
    for kind in _below(msgspec.Struct):
        with suppress(TypeError):  # one that is only ever encoded may have fields that cannot be decoded
            msgspec.json.Decoder(kind)


def _below(kind: type[msgspec.Struct]) -> Iterator[type[msgspec.Struct]]:
    for each in kind.__subclasses__():
        yield each
        yield from _below(each)

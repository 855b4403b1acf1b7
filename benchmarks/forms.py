"""The kernels' forms that this CPU has beside its best one, against llama.cpp's wheel, which is built for AVX2.

Decode and prefill as in their own modules, where the best form is measured.

    python -m benchmarks.forms
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from benchmarks import decode, prefill
from benchmarks.ours import Ours
from benchmarks.rows import write
from inference.kernels.cpu import cpu_features
from inference.kernels.forms import PLAIN, usable

_DECODE_TARGETS = {1: 1.2, 8: 2.0}
_PREFILL_TARGET = 2.5


def run() -> Iterator[dict[str, Any]]:
    for form in usable(cpu_features())[1:]:
        if form is PLAIN:
            continue
        ours, note = Ours(form=form.name), f"ours held to {form.label}"
        for num_streams, target in _DECODE_TARGETS.items():
            yield decode.compare(ours, num_streams, target, note, ["wheel"])
        yield prefill.compare(ours, 1000, _PREFILL_TARGET, note, ["wheel"])


if __name__ == "__main__":
    write("forms", list(run()))

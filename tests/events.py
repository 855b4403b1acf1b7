"""Events that tests of many parts need, as the inference worker writes them."""

from __future__ import annotations

from inference.protocol.events import GenerationStarted

STARTED = GenerationStarted(
    at=5,
    worker="w",
    attempt=1,
    device="cpu",
    model="m",
    architecture="llama",
    quantization="Q4_1",
    compute="",
    queued_us=1,
)

"""Facts about the model that its file lacks: recommended settings, and its size. Plain values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from inference.protocol.request import SamplingParams
from inference.tokenization.bundled import bundled_model


@dataclass(frozen=True)
class ModelEntry:
    """The settings of a new conversation, and the model's size."""

    default_params: SamplingParams
    default_system_prompt: str = ""
    """Empty: the model's own template decides."""
    num_params: int | None = None
    """None: unknown."""


_NEUTRAL = ModelEntry(SamplingParams(temperature=0.7, top_p=0.95, max_tokens=1024))
_BUNDLED = ModelEntry(
    # Measured with benchmarks/repetition.py.
    default_params=SamplingParams(
        temperature=0.25,
        top_p=1.0,
        min_p=0.05,
        frequency_penalty=0.6,
        presence_penalty=0.4,
        dry_multiplier=0.8,
        max_tokens=400,
    ),
    default_system_prompt="Answer in a few short sentences, in English.",
    num_params=134_515_008,
)


def entry_of(path: Path, has_server: bool) -> ModelEntry:
    """The entry of the model in this file. has_server: a remote server computes it, without some of our processors."""
    entry = _BUNDLED if path.resolve() == bundled_model().resolve() else _NEUTRAL
    return replace(entry, default_params=_NEUTRAL.default_params) if has_server else entry

"""The worker's settings, read from the environment in this one place. Knows nothing of Celery."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from inference.tokenization.bundled import bundled_model

_ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class WorkerSettings:
    """See the table in docs/architecture.md."""

    redis_url: str
    model_path: Path
    model_name: str
    num_threads: int
    policy_path: Path | None
    weights_path: Path
    kernels_path: Path


def read_settings() -> WorkerSettings:
    env = os.environ
    data = Path(env.get("SIGHTGLASS_DATA") or _ROOT / "data")
    policy = env.get("SIGHTGLASS_SAFETY_POLICY")
    return WorkerSettings(
        redis_url=env.get("SIGHTGLASS_REDIS_URL", "redis://127.0.0.1:6379/0"),
        model_path=Path(env.get("SIGHTGLASS_MODEL") or bundled_model()),
        model_name=env.get("SIGHTGLASS_MODEL_NAME", "smollm2-135m-instruct"),
        num_threads=_num_threads(env.get("SIGHTGLASS_THREADS")),
        policy_path=Path(policy) if policy else None,
        weights_path=data / "weights",
        kernels_path=data / "kernels",
    )


def _num_threads(text: str | None) -> int:
    if not text:
        return _default_threads()
    if not (text.isascii() and text.isdigit() and int(text) > 0):
        raise SystemExit(f"sightglass: SIGHTGLASS_THREADS is {text!r}; use a whole number from 1 on.")
    return int(text)


def _default_threads() -> int:
    """One core is left to the site, Redis and the browser: a thread that waits for a core holds up all the others."""
    return max(1, len(os.sched_getaffinity(0)) - 1)

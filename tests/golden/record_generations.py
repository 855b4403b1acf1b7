"""Records the golden logs of requests with two generations: `python -m tests.golden.record_generations`."""

from __future__ import annotations

import os

import django

import tests.environment  # noqa: F401 (before Django reads the environment)

CLEAR_SEED = 1340
"""Its first draws all fall where the model is sure."""


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")
    django.setup()
    from tests.golden.two_generations import Recorder, running  # its models need the set-up

    with running() as backends:
        recorder = Recorder(backends)
        recorder.record("two_generations", "And of Italy? Answer in one sentence.", seed=CLEAR_SEED, max_tokens=40)
        told = "Write a short story about it."
        recorder.record("second_taken_over", told, is_lost=True, seed=CLEAR_SEED, max_tokens=40)


if __name__ == "__main__":
    main()

"""How long the choice among one user's 10,000 memories takes for a message: its embedding, the search, the texts.

Also prints the parts, and the choice after a change, which reads all vectors from the database anew.

    python -m benchmarks.memories

Works in a database of its own. The notes' texts are numbers and their vectors are random: the time of an
exact search does not depend on them.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from statistics import median

os.environ["OPENBLAS_NUM_THREADS"] = "1"  # as `make up` starts the site

import numpy as np

from benchmarks.rows import Question, without_peer, write

NUM, ROUNDS = 10_000, 20
TARGET_MS = 20.0


def main() -> None:
    """Fill the database, print the parts and write the row."""
    with tempfile.TemporaryDirectory() as folder:
        os.environ |= {"SIGHTGLASS_DATA": folder, "DJANGO_SETTINGS_MODULE": "webapp.settings"}
        import django

        django.setup()
        _measure()


def _measure() -> None:
    from django.contrib.auth.models import User
    from django.core.management import call_command

    from webapp.content.memory.embedding import vector_of
    from webapp.content.memory.memories import settings_of
    from webapp.content.memory.recall import recall
    from webapp.content.memory.vectors import vector_cache

    call_command("migrate", verbosity=0)
    user_id = User.objects.create_user("measured").pk
    _fill(user_id)
    question = "What should I drink this afternoon?"
    vector_of(question)  # loads the encoder
    print(f"search among {NUM:,} memories, median of {ROUNDS}: wall clock and processor, in ms")
    version, vector = settings_of(user_id).version, vector_of(question)
    _print("search alone, vectors kept", lambda: vector_cache().of(user_id, version).nearest(vector, 5, True))
    _print("embedding of the message", lambda: vector_of(question))
    whole = _print("whole recall, vectors kept", lambda: recall(user_id, question, ()))

    def read_anew() -> None:
        vector_cache().forget(user_id)
        recall(user_id, question, ())

    anew = _print("whole recall, after a change", read_anew)
    note = f"{median(anew):.0f} ms after a change"
    question_of_row = Question("Memories chosen among 10,000 for a message", TARGET_MS, "ms", False, " ms")
    write("memories", [without_peer(question_of_row, whole, note)])


def _fill(user_id: int) -> None:
    from webapp.content.memory.memories import choose_mode
    from webapp.content.memory.models import Memory

    choose_mode(user_id, "on")
    vectors = np.random.default_rng(1).standard_normal((NUM, 384), np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    rows = (Memory(user_id=user_id, text=str(at), vector=each.tobytes()) for at, each in enumerate(vectors))
    Memory.objects.bulk_create(rows, batch_size=500)


def _print(name: str, work: Callable[[], object]) -> list[float]:
    """Print medians and return the clock's times. On a busy machine the processor's time can be compared."""
    clocks = [_clocks(work) for _ in range(ROUNDS)]
    wall, processor = (median(each) for each in zip(*clocks, strict=True))
    print(f"  {name:30} {wall:7.1f} {processor:7.1f}")
    return [each[0] for each in clocks]


def _clocks(work: Callable[[], object]) -> tuple[float, float]:
    start = time.perf_counter_ns(), time.process_time_ns()
    work()
    return (time.perf_counter_ns() - start[0]) / 1e6, (time.process_time_ns() - start[1]) / 1e6


if __name__ == "__main__":
    main()

"""How long a PDF of 100 dense pages takes from its bytes to embedded passages: read, cut, embedded.

Runs the product's own steps in one process, without queue and database. The note has the parts, and the time until the
first report of progress.

    python -m benchmarks.attachments
"""

from __future__ import annotations

import io
import os
import time
from dataclasses import dataclass

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

import django

from benchmarks.rows import Question, without_peer, write

NUM_PAGES, NUM_ROUNDS = 100, 3
TARGET_S = 30.0
_LINES = 45
_SENTENCE = "Page {page}, line {line}: the baker kneads dough number {number} and heats the oven."


@dataclass(frozen=True)
class Run:
    """One run, in seconds."""

    read: float
    first_progress: float
    """Until the first report of progress."""
    cut: float
    embedded: float
    num_passages: int

    @property
    def whole(self) -> float:
        return self.read + self.cut + self.embedded


def main() -> None:
    django.setup()
    data = book()
    runs = [measured(data) for _ in range(NUM_ROUNDS)]
    typical = sorted(runs, key=lambda each: each.whole)[NUM_ROUNDS // 2]
    note = (
        f"{typical.num_passages} passages; read {typical.read:.1f}, cut {typical.cut:.1f}, "
        f"embedded {typical.embedded:.1f}; first progress after {typical.first_progress:.1f}"
    )
    question = Question(f"A PDF of {NUM_PAGES} pages read, cut and embedded", TARGET_S, "s", False, " s")
    write("attachments", [without_peer(question, [each.whole for each in runs], note)])


def book() -> bytes:
    from reportlab.pdfgen.canvas import Canvas

    file = io.BytesIO()
    canvas = Canvas(file)
    for page in range(NUM_PAGES):
        for line in range(_LINES):
            canvas.drawString(50, 810 - 17 * line, _SENTENCE.format(page=page, line=line, number=page * line))
        canvas.showPage()
    canvas.save()
    return file.getvalue()


def measured(data: bytes) -> Run:
    from webapp.content.attachments.bounded_extraction import bounded_extraction
    from webapp.content.attachments.embedding import counts, embedded
    from webapp.content.attachments.passages import cut

    counts(["The encoder is loaded before the clock starts, as in a worker."])
    told: list[float] = []
    start = time.perf_counter()
    text = bounded_extraction().extract("book.pdf", data, lambda _: told.append(time.perf_counter())).text
    read = time.perf_counter()
    spans = cut(text, counts)
    cut_at = time.perf_counter()
    num = sum(len(vectors) for vectors in embedded([text[each.start : each.end] for each in spans]))
    end = time.perf_counter()
    assert num == len(spans)
    return Run(
        read=read - start,
        first_progress=told[0] - start,
        cut=cut_at - read,
        embedded=end - cut_at,
        num_passages=len(spans),
    )


if __name__ == "__main__":
    main()

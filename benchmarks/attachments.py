"""How long a PDF of 100 dense pages takes from its bytes to embedded passages: read, cut, embedded.

Runs the product's own steps in one process, without queue and database. The aim is 30 s on two quiet cores. A row of
results/attachments.json names the load that the machine had at the beginning.

    python -m benchmarks.attachments
"""

from __future__ import annotations

import io
import json
import os
import time
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "webapp.settings")

import django

RESULTS = Path(__file__).with_name("results") / "attachments.json"
NUM_PAGES = 100
_LINES = 45
_SENTENCE = "Page {page}, line {line}: the baker kneads dough number {number} and heats the oven."


@dataclass(frozen=True)
class Row:
    """One run."""

    day: str
    num_cores: int
    load: float
    """Average number of processes that ran or waited, over the minute before."""
    num_pages: int
    num_chars: int
    num_passages: int
    read_s: float
    first_percent_s: float
    """Until the first report of progress."""
    cut_s: float
    embedded_s: float
    whole_s: float


def main() -> None:
    django.setup()
    row = measured(book())
    rows = [*(json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else []), asdict(row)]
    RESULTS.write_text(json.dumps(rows, indent=1) + "\n")
    print(json.dumps(asdict(row), indent=1))


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


def measured(data: bytes) -> Row:
    from webapp.attachments.bounded_extraction import bounded_extraction
    from webapp.attachments.cutting import cut
    from webapp.attachments.embedding import counts, embedded

    load = os.getloadavg()[0]
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
    return Row(
        day=date.today().isoformat(),
        num_cores=os.cpu_count() or 0,
        load=round(load, 1),
        num_pages=NUM_PAGES,
        num_chars=len(text),
        num_passages=len(spans),
        read_s=round(read - start, 2),
        first_percent_s=round(told[0] - start, 2),
        cut_s=round(cut_at - read, 2),
        embedded_s=round(end - cut_at, 2),
        whole_s=round(end - start, 2),
    )


if __name__ == "__main__":
    main()

"""A short file that holds a great deal is refused in words, and the site's memory stays small."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.webapp.traces.export.test_exports import import_, signed_in
from webapp.requests.models import Request
from webapp.traces.imports.bounded_reading import BoundedReading

ROOT = Path(__file__).parents[3]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_short_trace_that_holds_a_great_deal_is_refused_and_costs_the_site_little() -> None:
    bomb = subprocess.run(
        [sys.executable, "-m", "tests.webapp.traces.bomb"], cwd=ROOT, capture_output=True, check=True
    ).stdout
    assert len(bomb) < 10_000
    alice = signed_in("alice")
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer = import_(alice, bomb)
    error = answer.json()["error"]
    assert (answer.status_code, error["code"]) == (400, "invalid_trace")
    assert "The file is too large to read: it takes" in error["message"]
    assert not Request.objects.exists()
    num_kilobytes = 1024 if sys.platform == "darwin" else 1
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000 * num_kilobytes


_KILLED = """
import os, signal
class Work:
    def answer(self, job):
        if "root" in job:
            return {}
        os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.django_db
def test_an_import_whose_reader_is_killed_may_be_tried_again(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    work = tmp_path / "work.py"
    work.write_text(_KILLED)
    reading = BoundedReading(work)
    monkeypatch.setattr("webapp.api.traces.imports.bounded_reading", lambda: reading)
    answer = import_(signed_in("alice"), b"{}")
    assert (answer.status_code, answer.json()["error"]["code"]) == (503, "busy")
    assert int(answer["Retry-After"]) > 0
    assert not Request.objects.exists()

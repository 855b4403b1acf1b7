"""A short file that holds a great deal is refused in words, and the site's memory stays small."""

from __future__ import annotations

import resource
import subprocess
import sys
from pathlib import Path

import pytest

from tests.webapp.traces.export.test_exports import import_, signed_in
from webapp.requests.models import Request

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

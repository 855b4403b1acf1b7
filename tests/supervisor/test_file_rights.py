"""What the started product writes is for its own user alone."""

from __future__ import annotations

import pytest

from tests.browser.running import Running

pytestmark = pytest.mark.slow


def test_logs_and_database_are_for_their_owner_alone(product: Running) -> None:
    files = [*product.data.glob("*.sqlite3*"), *(product.data / "logs").iterdir()]
    assert {"sightglass.sqlite3", "web.log", "inference.log"} <= {file.name for file in files}
    assert {file.name for file in files if file.stat().st_mode & 0o077} == set()

"""What the started product writes is for its own user alone."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.browser.running import Running
from tests.ports import free_port

pytestmark = pytest.mark.slow


def test_logs_and_database_are_for_their_owner_alone(tmp_path: Path) -> None:
    earlier = tmp_path / "sightglass.sqlite3"
    earlier.touch(0o644)
    product = Running(tmp_path, free_port())
    try:
        files = [*tmp_path.glob("*.sqlite3*"), *(tmp_path / "logs").iterdir()]
        assert {"sightglass.sqlite3", "web.log", "inference.log"} <= {file.name for file in files}
        assert {file.name for file in files if file.stat().st_mode & 0o077} == set()
    finally:
        product.end()
        product.wait_until_all_gone()

"""Spreads the tests over the processes of pytest-xdist, file by file. Knows nothing of what a test does.

`python -m pytest -n 2` starts two such processes. A lane is what one of them runs from beginning to end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from xdist.remote import Producer
    from xdist.scheduler import LoadFileScheduling

_SHARED = ("tests/browser/", "tests/conformance/", "tests/postgres/", "tests/supervisor/")
"""Folders that are one lane each: their files share one started product."""
_FIRST = (*_SHARED, "tests/faults/", "tests/inference/")
"""Long lanes begin first, so that no process ends long after the others. The rest keeps its order."""
SLOW = (*_SHARED, "tests/docker/", "tests/faults/", "tests/gpu/")
"""Folders whose every test is marked `slow`."""


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.nodeid.startswith(SLOW):
        item.add_marker("slow")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    items.sort(key=lambda item: _rank(item.nodeid))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadFileScheduling:
    from xdist.scheduler import LoadFileScheduling

    class Lanes(LoadFileScheduling):
        """A file is a lane, but for folders whose files share one."""

        def _split_scope(self, nodeid: str) -> str:
            shared = (folder for folder in _SHARED if nodeid.startswith(folder))
            return next(shared, super()._split_scope(nodeid))

    config.option.loadscopereorder = False
    return Lanes(config, log)


def _rank(nodeid: str) -> int:
    return next((rank for rank, folder in enumerate(_FIRST) if nodeid.startswith(folder)), len(_FIRST))

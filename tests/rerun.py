"""Runs a test of a browser or of faults once more where it fails, and lists those that then passed: a debt to mend.

Tests of one browser module share a page, and each goes on where the last one ended. The second try begins the module
again, with a new user and page.
"""

from __future__ import annotations

from itertools import pairwise

import pytest
from _pytest.runner import runtestprotocol

FOLDERS = {"browser", "faults", "scripted"}
"""Their tests share the machine with real browsers and dying processes."""
_ENDED = set[str]()
"""Browser modules with a test that failed twice. What follows it usually fails too, and each try takes minutes."""
_REASON = "why it failed at first"
"""A property of the test's reports. They travel from a process of pytest-xdist to the one that writes the summary."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if not FOLDERS & set(item.path.parts):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    failed = next((report for report in reports if report.failed), None)
    if failed and str(item.path) not in _ENDED:
        reports = _second_try(item, nextitem)
        again = next((report for report in reports if report.failed), None)
        if again:
            if "browser" in item.path.parts:
                _ENDED.add(str(item.path))
            again.sections.append(("the first try", failed.longreprtext))
        else:
            for report in reports:
                report.user_properties.append((_REASON, failed.longreprtext.strip()))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def _second_try(item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
    if "browser" in item.path.parts:
        module = [each for each in item.session.items if each.path == item.path]
        so_far = module[: module.index(item) + 1]
        # A next test of another module ends this one's page. The product stays.
        elsewhere = next((each for each in item.session.items if each.path != item.path), None)
        item.session._setupstate.teardown_exact(elsewhere)
        for each, following in pairwise(so_far):
            runtestprotocol(each, log=False, nextitem=following)
    return runtestprotocol(item, log=False, nextitem=nextitem)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    done = [report for outcome in ("passed", "skipped") for report in terminalreporter.stats.get(outcome, [])]
    found = {report.nodeid: reason for report in done for name, reason in report.user_properties if name == _REASON}
    if found:
        terminalreporter.section("passed only when run once more: mend these")
    for name, reason in found.items():
        terminalreporter.write_line(f"{name}:\n{reason}\n")

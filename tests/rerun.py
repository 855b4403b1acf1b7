"""Runs a browser or fault test that fails once more, and lists those that then passed: a debt that is kept at none."""

from __future__ import annotations

import pytest
from _pytest.runner import runtestprotocol

FOLDERS = {"browser", "faults"}
"""Their tests share the machine with real browsers and dying processes."""
_REASON = "why it failed at first"
"""A property of the test's reports. They travel from a process of pytest-xdist to the one that writes the summary."""


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    if not FOLDERS & set(item.path.parts):
        return None
    item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
    reports = runtestprotocol(item, log=False, nextitem=nextitem)
    if failed := next((report for report in reports if report.failed), None):
        reports = runtestprotocol(item, log=False, nextitem=nextitem)
        if not any(report.failed for report in reports):
            reason = failed.longreprtext.strip().splitlines()[-1]
            for report in reports:
                report.user_properties.append((_REASON, reason))
    for report in reports:
        item.ihook.pytest_runtest_logreport(report=report)
    item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)
    return True


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    done = [report for outcome in ("passed", "skipped") for report in terminalreporter.stats.get(outcome, [])]
    found = {report.nodeid: reason for report in done for name, reason in report.user_properties if name == _REASON}
    if found:
        terminalreporter.section("passed only when run once more: mend these")
    for name, reason in found.items():
        terminalreporter.write_line(f"{name}: {reason}")

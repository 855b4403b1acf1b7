"""A change runs the tests downstream of it, and no others."""

from __future__ import annotations

import pytest

from scripts.changed import CROSSING, ROOT, Tables, choose, read_tables
from tests.architecture.test_imports import SITE_IN_FULL

TREE = "tests/docs/test_links.py"
SHELL = "tests/docs/test_api.py"
COMPOSE = "tests/docker/test_compose.py"
PRICES = "tests/webapp/models/billing/test_prices.py"
BILLS = "tests/webapp/usage/month/test_bills.py"
LOGS = "tests/inference/eventlog/test_logs.py"
PAGES = "tests/browser/test_pages.py"
DEPLOY = "tests/webapp/test_deploy.py"
TABLES = Tables(
    downstream={
        "inference.eventlog": {"inference.eventlog", "webapp.models.billing", "webapp.usage"},
        "webapp.models.billing": {"webapp.models.billing", "webapp.usage"},
        "webapp.usage": {"webapp.usage"},
        "webapp.api": {"webapp.api"},
    },
    nodes={
        TREE: {TREE},
        SHELL: {SHELL, "calls webapp.api"},
        COMPOSE: {COMPOSE},
        PRICES: {PRICES, "webapp.models.billing"},
        BILLS: {BILLS, "webapp.usage", "tests/webapp/usage/reports.py", "calls webapp.usage"},
        LOGS: {LOGS, "inference.eventlog", "scripts.docs"},
        PAGES: {PAGES, "webapp.models.billing"},
        DEPLOY: {DEPLOY, "webapp"},
    },
    plugins=frozenset({"tests/lanes.py"}),
)


@pytest.mark.parametrize(
    ("changed", "tests"),
    [
        ("webapp/models/billing/prices/models.py", {PRICES, BILLS, DEPLOY}),
        ("webapp/usage/report.py", {BILLS, DEPLOY}),
        ("inference/eventlog/log.py", {LOGS, PRICES, BILLS}),
        ("webapp/api/view.py", {SHELL, DEPLOY}),
        ("webapp/settings.py", {PRICES, BILLS, DEPLOY}),
        ("manage.py", {PRICES, BILLS, DEPLOY}),
        ("scripts/docs.py", {LOGS}),
        ("tests/webapp/usage/reports.py", {BILLS}),
        ("tests/webapp/usage/conftest.py", {BILLS}),
        ("tests/webapp/usage/month/days/days.csv", {BILLS}),
        (PRICES, {PRICES}),
        (PAGES, {PAGES}),
        ("tests/browser/conftest.py", {PAGES}),
        ("frontend/src/chat/Chat.svelte", {PAGES}),
        ("frontend/src/trace/fold.ts", set()),
        ("docs/api.md", {SHELL}),
        ("README.md", {SHELL}),
        ("docker/compose.yaml", {COMPOSE}),
    ],
)
def test_a_change_runs_what_is_downstream(changed: str, tests: set[str]) -> None:
    choice = choose([changed], TABLES)
    assert choice.tests.keys() == tests | {TREE}
    assert choice.everything == ""


def test_no_change_runs_nothing() -> None:
    assert choose([], TABLES).tests == {}


@pytest.mark.parametrize("path", ["tests/lanes.py", "tests/conftest.py", "requirements-dev.txt", "pyproject.toml"])
def test_what_every_test_needs_runs_every_test(path: str) -> None:
    assert choose(["docs/api.md", path], TABLES).everything == path


def test_a_suite_that_is_asked_for_runs_besides() -> None:
    assert choose(["webapp/usage/report.py"], TABLES, ["tests/browser"]).tests.keys() == {TREE, BILLS, DEPLOY, PAGES}


@pytest.mark.parametrize(
    ("changed", "has_page", "is_whole_page"),
    [
        (["webapp/usage/report.py"], False, False),
        (["frontend/src/trace/fold.ts", "webapp/usage/report.py"], True, False),
        (["frontend/src/trace/fold.ts", "frontend/package.json"], True, True),
        (["frontend/vite.config.ts"], True, True),
        (["tests/golden/logs/a.jsonl"], True, True),
    ],
)
def test_the_pages_tests_run_where_the_page_or_its_golden_logs_changed(
    changed: list[str], has_page: bool, is_whole_page: bool
) -> None:
    choice = choose(changed, TABLES)
    assert (choice.has_page, choice.is_whole_page) == (has_page, is_whole_page)


def test_a_reason_names_the_change() -> None:
    assert (
        choose(["webapp/models/billing/models.py"], TABLES).tests[BILLS]
        == "webapp.usage is downstream of webapp/models/billing/models.py"
    )


@pytest.mark.parametrize("package", SITE_IN_FULL)
def test_each_package_of_this_tree_runs_its_own_tests_and_its_importers(package: str) -> None:
    tables = read_tables()
    importers = {package, *(name for name, allowed in SITE_IN_FULL.items() if package in allowed)}
    folders = [f"tests/{name.replace('.', '/')}/" for name in importers]
    expected = {file for file in tables.nodes if file.startswith(tuple(folders))}
    assert expected <= choose([f"{package.replace('.', '/')}/any.py"], tables).tests.keys()


def test_each_test_is_reached_by_what_it_tests() -> None:
    tables = read_tables()
    changed = [f"{package.replace('.', '/')}/any.py" for package in tables.downstream]
    changed += ["docs/any.md", *(file.relative_to(ROOT).as_posix() for file in (ROOT / "benchmarks").rglob("*.py"))]
    reached = choose(changed, tables).tests
    assert [file for file in tables.nodes if file not in reached and not file.startswith(CROSSING)] == []


def test_the_suites_of_the_whole_product_are_there() -> None:
    assert [suite for suite in CROSSING if not (ROOT / suite).is_dir()] == []

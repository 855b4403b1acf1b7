"""Each process of the product has the secrets of its role, and no log or process list has any."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import psycopg
import pytest

from scripts.docs import settings as all_settings
from tests.browser.running import Running, descendants
from tests.browser.test_product import start
from tests.ports import free_port
from tests.postgres.conftest import postgres_url
from tests.supervisor.test_restart import signed_in, wait_until_settled
from webapp.operations.supervisor.roles import environment_of, is_secret

__all__ = ["postgres_url"]

OF_ROLE = {
    "web": {"database", "key", "former", "mail", "token"},
    "lifecycle": {"database", "key", "former", "mail"},
    "sender": {"database", "otlp"},
    "inference": {"server"},
    "probes": set[str](),
    "redis": set[str](),
}
"""The planted secrets by role; a secret's text is its name here, twice."""
MARKS = {
    "valkey": "redis",
    "inference.worker.app": "inference",
    "webapp worker": "lifecycle",
    "webapp.serve": "web",
    "probe_app": "probes",
    "export.sender": "sender",
}


def planted(name: str) -> str:
    return f"planted-{name}-{name}"


PLANTED = {name: planted(name) for name in ("database", "key", "former", "mail", "otlp", "token", "server")}


@pytest.fixture
def product(postgres_url: str, tmp_path: Path) -> Iterator[Running]:
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("CREATE DATABASE secrets")
    database = postgres_url.replace("//sightglass@/postgres?", f"//sightglass:{PLANTED['database']}@/secrets?")
    running = Running(
        tmp_path,
        free_port(),
        SIGHTGLASS_DATABASE_URL=database,
        SIGHTGLASS_SECRET_KEY=PLANTED["key"],
        SIGHTGLASS_SECRET_KEY_FALLBACKS=PLANTED["former"],
        SIGHTGLASS_EMAIL_URL=f"smtp://ann:{PLANTED['mail']}@127.0.0.1:1?from=a@example.org",
        SIGHTGLASS_OTLP_ENDPOINT="http://127.0.0.1:1",
        SIGHTGLASS_OTLP_HEADERS=f"x-key={PLANTED['otlp']}",
        SIGHTGLASS_METRICS_TOKEN=PLANTED["token"],
        SIGHTGLASS_BACKEND_KEY=PLANTED["server"],
    )
    yield running
    running.end()


def role_of(command: str) -> str | None:
    return next((role for mark, role in MARKS.items() if mark in command), None)


def test_each_process_has_the_secrets_of_its_role_alone(product: Running) -> None:
    with closing(signed_in(product)) as client:
        assert wait_until_settled(client, start(client, "Say hello.", max_tokens=3))["status"] == "done"
    processes = descendants(product.process.pid)
    assert {role_of(command) for command in processes.values()} - {None} == OF_ROLE.keys()
    for pid, command in processes.items():
        role = role_of(command)
        environment = Path(f"/proc/{pid}/environ").read_bytes().decode()
        found = {name for name, text in PLANTED.items() if text in environment}
        assert found == (OF_ROLE[role] if role else set()), (command, found)
        assert not any(text in command for text in PLANTED.values()), command
    for log in (product.data / "logs").iterdir():
        assert not any(text in log.read_text("utf-8") for text in PLANTED.values()), log
    assert not any(text in line for line in product.lines for text in PLANTED.values())


def test_a_setting_that_sounds_secret_is_in_the_table() -> None:
    plain = {"SIGHTGLASS_PUBLIC_URL", "SIGHTGLASS_BACKEND_URL"}
    """Neither may hold a password: the reading of the settings refuses one."""
    names = [
        each.name
        for each in all_settings()
        if any(part in each.name for part in ("KEY", "URL", "TOKEN", "HEADERS", "PASSWORD"))
    ]
    assert len(names) > 8
    assert {name for name in names if not is_secret(name)} == plain


def test_an_unknown_role_gets_no_secret() -> None:
    given = {"SIGHTGLASS_SECRET_KEY": "k", "SIGHTGLASS_MODEL": "m", "PGPASSWORD": "p", "PATH": "/bin"}
    assert environment_of("guest", given) == {"SIGHTGLASS_MODEL": "m", "PATH": "/bin"}
    assert environment_of("lifecycle", given) == given

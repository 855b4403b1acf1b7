"""PostgreSQL that does not answer: each wait ends by the site's own limits, and its client is told so."""

from __future__ import annotations

import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import httpx
import psycopg
import pytest

from tests.redis_servers import Network, network
from tests.webapp.lifecycle.stream.conftest import Site
from webapp.ground.gateway.handler import NUM_THREADS
from webapp.ground.postgres.base import Connection

pytestmark = pytest.mark.slow

MOST_S = 30
"""After a cut in silence all threads are free within this time."""
PATH = "/api/conversations"


@pytest.fixture(scope="module")
def database(postgres_url: str) -> str:
    """A database of its own."""
    with psycopg.connect(postgres_url, autocommit=True) as server:
        server.execute("CREATE DATABASE limits")
    return postgres_url.replace("/postgres?", "/limits?")


@pytest.fixture(scope="module")
def between(database: str) -> Iterator[Network]:
    """The network between the site and the database."""
    folder = parse_qs(urlsplit(database).query)["host"][0]
    with network(Path(folder) / ".s.PGSQL.5432") as made:
        yield made


@pytest.fixture(scope="module")
def url(between: Network) -> str:
    return f"postgres://sightglass@127.0.0.1:{between.port}/limits?sslmode=disable"


@pytest.fixture(scope="module")
def site(url: str, redis_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    running = Site(tmp_path_factory.mktemp("site"), redis_url, SIGHTGLASS_DATABASE_URL=url)
    running.sign_in()
    yield running
    running.close()


def asked_at_once(site: Site, num: int) -> list[httpx.Response]:
    with ThreadPoolExecutor(num) as clients:
        return list(clients.map(lambda _: site.client.get(PATH), range(num)))


@contextmanager
def held(database: str, statement: str) -> Iterator[None]:
    """Another client's transaction, which stands still."""
    with psycopg.connect(database) as other:
        other.execute(statement.encode())
        yield
        other.rollback()


def refusal(response: httpx.Response) -> tuple[int, str]:
    assert int(response.headers["Retry-After"]) > 0
    return response.status_code, response.json()["error"]["code"]


def test_a_lock_that_another_client_holds_ends_the_statement_by_name(site: Site, database: str) -> None:
    with held(database, "LOCK TABLE chat_conversation IN ACCESS EXCLUSIVE MODE"):
        response = site.client.get(PATH)
    assert refusal(response) == (503, "database_locked")
    assert site.client.get(PATH).status_code == 200


def test_a_page_whose_statement_waits_too_long_says_so(site: Site, database: str) -> None:
    with held(database, "LOCK TABLE auth_user IN ACCESS EXCLUSIVE MODE"):
        response = site.client.get("/library")
    assert (response.status_code, response.headers["Retry-After"]) == (503, "5")
    assert "cannot do this now" in response.text


def test_a_cut_in_silence_frees_every_thread_and_the_next_request_is_answered(site: Site, between: Network) -> None:
    assert {each.status_code for each in asked_at_once(site, NUM_THREADS)} == {200}
    between.cut()
    begin = time.monotonic()
    answers = asked_at_once(site, NUM_THREADS)
    taken_s = time.monotonic() - begin
    between.mend()
    assert {refusal(each) for each in answers} == {(503, "database_unavailable")}
    assert taken_s < MOST_S
    assert {each.status_code for each in asked_at_once(site, NUM_THREADS)} == {200}


def test_a_reply_that_does_not_come_ends_the_connection(url: str, between: Network) -> None:
    connection = Connection.connect(url, autocommit=True)
    connection.execute("SELECT 1")
    connection.silence_s = 0.5
    between.cut()
    try:
        with pytest.raises(psycopg.OperationalError, match="no reply in"):
            connection.execute("SELECT 1")
        assert connection.closed
    finally:
        between.mend()


def test_the_servers_own_limits_hold_for_every_connection_of_the_site(site: Site) -> None:
    names = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")
    code = f"""
from django.db import connection
with connection.cursor() as cursor:
    for name in {names}:
        cursor.execute("SHOW " + name)
        print(*cursor.fetchone())
"""
    assert site.manage("shell", "--no-imports", "-c", code).split() == ["15s", "10s", "1min"]


def test_a_migration_takes_as_long_as_it_needs(site: Site, url: str) -> None:
    code = """
from django.db import OperationalError, connection
with connection.schema_editor() as editor:
    editor.execute("SELECT pg_sleep(1)")
try:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_sleep(60)")
except OperationalError as error:
    print(error.__cause__.sqlstate)
"""
    short = {"SIGHTGLASS_DATABASE_URL": f"{url}&options=-c%20statement_timeout%3D300"}
    site.env = site.env | short
    assert site.manage("shell", "--no-imports", "-c", code).split() == ["57014"]

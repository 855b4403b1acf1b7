"""The server that the tests of PostgreSQL use."""

from tests.postgres.conftest import postgres_url

__all__ = ["postgres_url"]

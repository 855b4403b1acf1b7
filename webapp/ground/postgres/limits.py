"""The limits of time for every connection to PostgreSQL, as libpq's options. Knows nothing of Django.

They stand in this order: a lock that is held ends a statement by name, before the statement's own limit does. The
server's limits end before the client's. A thread is free after 24 seconds at most.
"""

from __future__ import annotations

CONNECT_S = 3
"""Longest time to connect, and for the question if a kept connection still answers."""
LOCK_S = 10
STATEMENT_S = 15
SILENCE_S = 18
"""Longest wait for a reply. A network that is cut in silence resets no connection, and its proxies may acknowledge."""
IDLE_IN_TRANSACTION_S = 60
"""After it the server ends a transaction whose process stands still, and frees its locks."""
_UNACKNOWLEDGED_MS = 10_000

_SESSION = {
    "statement_timeout": f"{STATEMENT_S}s",
    "lock_timeout": f"{LOCK_S}s",
    "idle_in_transaction_session_timeout": f"{IDLE_IN_TRANSACTION_S}s",
}


def limited(options: dict[str, str]) -> dict[str, str]:
    """The options of an address, which win, with the limits."""
    session = " ".join(f"-c {name}={value}" for name, value in _SESSION.items())
    limits = {
        "connect_timeout": str(CONNECT_S),
        "tcp_user_timeout": str(_UNACKNOWLEDGED_MS),
        "keepalives_idle": "10",
        "keepalives_interval": "3",
        "keepalives_count": "3",
    }
    return limits | options | {"options": f"{session} {options.get('options', '')}".strip()}

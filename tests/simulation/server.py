"""The simulated Redis: log, leases, queues and heartbeats, and what reaches them. Knows nothing of who calls why.

Every call is a place where the caller waits, where it may be killed, and where its request or its reply may be lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import redis

from inference.eventlog.event_log import Fenced, LogLost
from inference.eventlog.memory import MemoryEventLog
from inference.eventlog.memory_leases import MemoryLeases
from tests.simulation.world import World

_HEARTBEAT_S = 10.0
_READS = frozenset({"read", "entries", "mark", "last_seq", "is_claimed", "is_cancelled"})
_REPEATED = _READS | {"append", "put_back", "claim", "fence", "open"}
"""Calls that a client sends again after a lost reply, and that the server then answers as before."""

_WRITES = frozenset({"append", "put_back", "claim", "fence", "grant", "take", "cancel"})


@dataclass(frozen=True)
class Message:
    """A task in a queue."""

    task: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    num_retries: int = 0

    def __str__(self) -> str:
        return self.task


@dataclass
class Takings:
    """What open requests have taken from the rates: the twin of `webapp.usage.limits.rates.Rates`."""

    taken: set[str] = field(default_factory=set)
    used: dict[str, list[int]] = field(default_factory=dict)
    """Per request the output tokens of each correction."""

    def correct(self, request_id: str, used: Callable[[str], int]) -> bool:
        if request_id not in self.taken:
            return False
        self.taken.remove(request_id)
        self.used.setdefault(request_id, []).append(used("output_tokens"))
        return True

    def give_back(self, request_id: str) -> bool:
        return self.correct(request_id, lambda _: 0)

    def copy(self) -> Takings:
        return Takings(set(self.taken), {each: list(used) for each, used in self.used.items()})


@dataclass
class Stored:
    """All that Redis holds."""

    log: MemoryEventLog
    leases: MemoryLeases
    queues: dict[str, list[Message]] = field(default_factory=dict)
    beats: dict[str, float] = field(default_factory=dict)
    """When the heartbeat of each inference worker expires."""
    names: set[str] = field(default_factory=set)
    """Of the queues of generations."""
    recent: dict[str, list[str]] = field(default_factory=dict)
    """The workers of a user's last requests."""
    rates: Takings = field(default_factory=Takings)

    def copy(self) -> Stored:
        queues = {name: list(messages) for name, messages in self.queues.items()}
        recent = {key: list(workers) for key, workers in self.recent.items()}
        rates = self.rates.copy()
        return Stored(self.log.copy(), self.leases.copy(), queues, dict(self.beats), set(self.names), recent, rates)


class Server:
    """Redis, which may come back without its last seconds, or empty."""

    def __init__(self, world: World, new_log: Callable[[], MemoryEventLog] = MemoryEventLog) -> None:
        self._world = world
        self._new_log = new_log
        self.is_away_until = 0.0
        self.lost_replies = 0.0
        """The share of calls whose reply is lost."""
        self.has_lost_data = False
        self.stored = self.empty()
        self._disk = self.stored

    def empty(self) -> Stored:
        return Stored(self._new_log(), MemoryLeases(lambda: self._world.now))

    def save(self) -> None:
        self._disk = self.stored.copy()
        self._world.tell("redis saves")

    def come_back(self, away_s: float, is_empty: bool) -> None:
        self.has_lost_data = True
        self.stored = self.empty() if is_empty else self._disk.copy()
        self.is_away_until = self._world.now + away_s
        self._world.tell("redis comes back %s", "empty" if is_empty else "without its end")

    def reach(self, patience_s: float, error: type[Exception] = redis.ConnectionError) -> None:
        """Wait until a call reaches the server. Raises the error when it does not."""
        world = self._world
        world.travel()
        assert world.current is not None
        process, gives_up_at = world.current.process, world.now + patience_s
        while (until := max(process.is_cut_until, self.is_away_until)) > world.now:
            if until > gives_up_at:
                world.pause(gives_up_at - world.now)
                world.tell("redis is out of reach")
                world.disturb()
                raise error("redis is out of reach")
            world.pause(until - world.now)

    def beat(self, name: str) -> None:
        self.reach(_HEARTBEAT_S)
        self.stored.beats[name] = self._world.now + _HEARTBEAT_S


class Wire:
    """The log or the leases as one process reaches them."""

    def __init__(self, world: World, server: Server, part: str, patience_s: float, seen: Callable[..., None]) -> None:
        """seen: told of each call that had its effect, with its result."""
        self._world = world
        self._server = server
        self._part = part
        self._patience_s = patience_s
        self._seen = seen

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return self._call(method, args, kwargs)

        return call

    def _call(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if method == "renew" and not args[0]:  # no call, as in the product
            return 0
        self._server.reach(self._patience_s)
        result = self._effect(method, args, kwargs)
        if self._world.chance(self._server.lost_replies):
            self._world.disturb()
            if self._world.chance(0.5):
                self._world.tell("its reply is lost")
                raise redis.ConnectionError("the reply was lost")
            self._world.pause(self._world.random.uniform(0.1, 1.0))
            if method not in _REPEATED:
                return self._effect(method, args, kwargs)
        return result

    def _effect(self, method: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        target = getattr(self._server.stored, self._part)
        try:
            result = getattr(target, method)(*args, **kwargs)
        except (Fenced, LogLost) as error:
            self._world.tell("%s.%s: %s: %s", self._part, method, type(error).__name__, error)
            raise
        if self._world.trace is not None and (result != {} or method != "overdue"):
            self._world.tell("%s.%s%s -> %s", self._part, method, shown(args), shown(result))
        if method in _WRITES:
            self._world.wrote()
        self._seen(self._part, method, args, kwargs, result)
        return result


def shown(value: Any) -> str:
    """A value in few words."""
    if isinstance(value, tuple):
        return f"({', '.join(map(shown, value))})"
    if isinstance(value, dict):
        return f"[{', '.join(value)}]"
    if isinstance(value, list):
        return f"[{', '.join(map(shown, value))}]" if len(value) < 7 else f"[{len(value)} items]"
    return f"{value}" if isinstance(value, str | int | float | None) else shown_struct(value)


def shown_struct(value: Any) -> str:
    tag = getattr(getattr(value, "__struct_config__", None), "tag", None)
    position = getattr(value, "position", None)
    if tag is not None:
        return f"{tag}" if position is None else f"{tag} {position}"
    return type(value).__name__

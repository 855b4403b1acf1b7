"""The simulated web process's event loop, its Hub on simulated streams, and clients that follow requests.

Hub and frames are the product's own. Knows nothing of how requests come about.
"""

from __future__ import annotations

import asyncio
import selectors
from collections.abc import Callable, Mapping
from contextlib import aclosing
from functools import partial
from types import SimpleNamespace
from typing import Any, TypeVar

import redis
from django.db import DatabaseError

from inference.eventlog.entry import Entry
from inference.eventlog.keys import log_key
from tests.simulation.checks import Checks, Reader
from tests.simulation.server import Server
from tests.simulation.world import Process, Thread, World
from webapp.lifecycle.stream import frames as stream
from webapp.lifecycle.stream.hub import Hub, Overflow
from webapp.lifecycle.stream.shared_traces import SharedTrace
from webapp.traces import store

_PATIENCE_S = 0.5
_T = TypeVar("_T")
_LOG, _END = log_key("*").split("*")


class _Selector(selectors.BaseSelector):
    """Waits by the simulated clock; no file is ever ready."""

    def __init__(self) -> None:
        self.wait: Callable[[float | None], object] = lambda _: None

    def register(self, fileobj: Any, events: int, data: Any = None) -> selectors.SelectorKey:
        return selectors.SelectorKey(fileobj, 0, events, data)

    def unregister(self, fileobj: Any) -> selectors.SelectorKey:
        return selectors.SelectorKey(fileobj, 0, 0, None)

    def get_key(self, fileobj: Any) -> selectors.SelectorKey:
        raise KeyError(fileobj)

    def get_map(self) -> Mapping[Any, selectors.SelectorKey]:
        return {}

    def select(self, timeout: float | None = None) -> list[Any]:
        if timeout is None or timeout > 0:
            asyncio._set_running_loop(None)  # other threads run meanwhile
            try:
                self.wait(timeout)
            finally:
                asyncio._set_running_loop(self.loop)
        return []

    loop: Any = None


class WorldLoop(asyncio.SelectorEventLoop):
    """An event loop by the simulated clock. One serves all runs, as the product keeps a reader for each loop."""

    def __init__(self) -> None:
        self._waits = _Selector()
        self._clock: Callable[[], float] = lambda: 0.0
        super().__init__(self._waits)
        self._waits.loop = self

    def time(self) -> float:
        return self._clock()

    def run_in(self, world: World, process: Process) -> Thread:
        """Run in a thread of the process until stopped."""
        self._clock = lambda: world.now
        self._waits.wait = world.park
        return world.start(process, "loop", self.run_forever)


class Streams:
    """The asyncio client of redis-py, as far as the Hub uses it."""

    def __init__(self, world: World, server: Server, process: Process, loop: WorldLoop) -> None:
        self._world = world
        self._server = server
        self._process = process
        self._loop = loop
        self._num_wakes = 0
        self._waiting: set[asyncio.Future[None]] = set()

    def news(self) -> None:
        """Let blocked reads look again."""
        for waiting in self._waiting:
            self._loop.call_soon(_finish, waiting, None)
        self._waiting = set()

    async def xrange(self, key: str, min: str, max: str = "+", count: int | None = None) -> list[Any]:
        await self._reach()
        if min == max:
            return [row for row in self._entries(key, 0) if row[0] == min.encode()]
        return self._entries(key, 0 if min == "-" else int(min[1:-2]))[:count]

    async def xrevrange(self, key: str, count: int) -> list[Any]:
        await self._reach()
        return self._entries(key, 0)[::-1][:count]

    async def xread(self, streams: Mapping[str, str], count: int, block: int) -> Any:
        await self._reach()
        deadline = self._loop.time() + block / 1000
        while not (found := self._found(streams, count)):
            waiting = self._loop.create_future()
            self._waiting.add(waiting)
            try:
                async with asyncio.timeout_at(deadline):
                    await waiting
            except TimeoutError:
                return None
        await self._reach()
        return found

    def pipeline(self, transaction: bool) -> Any:
        return SimpleNamespace(xadd=lambda *_, **__: None, expire=lambda *_: None, execute=self._wake)

    async def aclose(self) -> None:
        """Nothing to close."""

    async def _wake(self) -> None:
        await self._reach()
        self._num_wakes += 1
        self.news()

    async def _reach(self) -> None:
        await asyncio.sleep(self._world.latency())
        if max(self._process.is_cut_until, self._server.is_away_until) > self._world.now:
            await asyncio.sleep(_PATIENCE_S)
            raise redis.ConnectionError("redis is out of reach")

    def _found(self, streams: Mapping[str, str], count: int) -> list[Any]:
        found = []
        for key, position in streams.items():
            after = int(position.split("-")[0])
            rows = self._entries(key, after)[:count] if key.startswith(_LOG) else self._wakes(after)
            if rows:
                found.append((key.encode(), rows))
        return found

    def _wakes(self, after: int) -> list[Any]:
        return [(b"%d-0" % self._num_wakes, {})] if self._num_wakes > after else []

    def _entries(self, key: str, after: int) -> list[Any]:
        request_id = key.removeprefix(_LOG).removesuffix(_END)
        return [_row(entry) for entry in self._server.stored.log.entries(request_id, after)]


class Web:
    """The connections of one web process."""

    def __init__(self, world: World, server: Server, checks: Checks, loop: WorldLoop, user_id: int) -> None:
        self._world = world
        self._checks = checks
        self._loop = loop
        self._user_id = user_id
        self.process = Process("web")
        self._kernel = Process("web loop")
        """The loop of the process: it outlives a kill, which cancels all that it ran."""
        self._streams = Streams(world, server, self.process, loop)
        self._thread = loop.run_in(world, self._kernel)
        self.hub: Hub
        self.readers: list[Reader] = []
        self._following: dict[int, asyncio.Task[None]] = {}
        self._reading: dict[asyncio.Future[Any], Thread] = {}
        self.cuts = 0.0
        """The share of frames after which a client loses its connection."""

    def patched(self) -> dict[str, Any]:
        """What takes the place of the stream package's names."""
        return {"hub": lambda: self.hub, "read": self.read, "shared_traces": _Traces}

    def begin(self) -> None:
        """Begin once the names are in place."""
        self.hub = self._new_hub()

    def news(self) -> None:
        self._streams.news()
        self._world.wake(self._thread)

    def follow(self, request_id: str) -> None:
        """Let another client follow the request to its end."""
        self.readers.append(Reader(request_id))
        self._connect(len(self.readers) - 1)

    def _connect(self, number: int) -> None:
        def begin() -> None:
            self._following[number] = self._loop.create_task(self._follow(self.readers[number]))

        self._loop.call_soon(begin)
        self._world.wake(self._thread)

    def restart(self) -> None:
        """Begin again after a kill: clients connect anew."""
        self.process.is_alive = True
        self.hub = self._new_hub()
        for number, reader in enumerate(self.readers):
            if not reader.has_ended:
                self._connect(number)

    def stand(self, until: float) -> None:
        self.process.stands_until = self._kernel.stands_until = until

    def die(self) -> None:
        """Cancel all that ran in the loop."""

        def end() -> None:
            for each in (*self._following.values(), *self._reading):
                each.cancel()
            self._following.clear()
            self._loop.create_task(self.hub.close())

        self._loop.call_soon(end)
        self._world.wake(self._thread)

    def close(self) -> None:
        """Let the loop run dry, and stop it."""
        self._kernel.stands_until = 0.0
        self.die()

        def stop_when_dry() -> None:
            if asyncio.all_tasks(self._loop):
                self._loop.call_later(0.1, stop_when_dry)
            else:
                self._loop.stop()

        self._loop.call_later(0.1, stop_when_dry)
        while self._thread in self._kernel.threads:
            self._world.run(lambda: self._thread not in self._kernel.threads, self._world.now + 1.0)
            for reading in list(self._reading):
                self._loop.call_soon(reading.cancel)
            self._world.wake(self._thread)

    async def read(self, query: Callable[[], _T]) -> _T:
        """In place of a thread of the shared pool: a thread of this process."""
        future: asyncio.Future[_T] = self._loop.create_future()

        def run() -> None:
            try:
                act = partial(_finish, future, query())
            except Exception as error:
                act = partial(_fail, future, error)
            self._loop.call_soon(act)
            self._world.wake(self._thread)

        if not self.process.is_alive:
            raise DatabaseError("the process has ended")
        self._reading[future] = self._world.start(self.process, "read", run)
        try:
            return await future
        finally:
            del self._reading[future]

    async def _follow(self, reader: Reader) -> None:
        while not reader.has_ended:
            try:
                await self._receive(reader)
            except (redis.RedisError, DatabaseError, Overflow, stream.Unreadable, ConnectionError) as error:
                self._world.tell("a reader of %s begins again: %s", reader.request_id, type(error).__name__)
            if not reader.has_ended:
                await asyncio.sleep(self._world.random.uniform(0.1, 1.0))

    async def _receive(self, reader: Reader) -> None:
        request = await self.read(lambda: stream.find_request(self._user_id, reader.request_id))
        if request is None:
            reader.has_ended = True
            return
        async with aclosing(stream.frames(request, reader.after)) as source:
            async for frame in source:
                self._world.tell(
                    "a reader of %s has %s",
                    reader.request_id,
                    frame.mark if isinstance(frame, stream.WireFrame) else "nothing",
                    by=self.process,
                )
                if isinstance(frame, stream.Again):
                    reader.begin_again()
                    continue
                self._checks.received(reader, frame.mark, frame.json)
                if self._world.chance(self.cuts):
                    raise ConnectionError("the client lost its connection")
        if not reader.has_ended:
            self._checks.fail("the stream of %s ended without an end", reader.request_id)

    def _new_hub(self) -> Hub:
        return Hub(self._streams)  # type: ignore[arg-type]


class _Traces:
    """SharedTraces without its lock, which blocks real threads."""

    def load(self, request_id: str) -> Any:
        frames = store.load_frames(request_id)
        return SharedTrace(frames) if frames else None


def _finish(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)


def _fail(future: asyncio.Future[Any], error: Exception) -> None:
    if not future.done():
        future.set_exception(error)


def _row(entry: Entry) -> tuple[bytes, dict[bytes, bytes]]:
    fields = {b"seq": b"%d" % entry.seq, b"events": entry.events}
    return b"%d-0" % entry.last_seq, fields | {b"follows": entry.follows.encode(), b"digest": entry.digest.encode()}

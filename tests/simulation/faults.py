"""The faults of one run, drawn from its seed: each run has some kinds of them, and others have others."""

from __future__ import annotations

from dataclasses import dataclass
from random import Random

KINDS = ("kill", "stop", "stand", "cut", "reply", "message", "database", "skew", "tail", "slow", "engine")


@dataclass(frozen=True)
class Faults:
    """Which faults strike, and for how long."""

    kinds: frozenset[str]
    until: float
    """The faults cease then."""
    replies: float
    losses: float
    doubles: float
    delays: float
    database: float
    engine: float
    kills: float
    stands: float
    stops: float
    """Shares of calls after a write at which the caller is killed, or stands still, or a request is stopped. Of other
    calls it is a tenth."""

    @classmethod
    def draw(cls, random: Random) -> Faults:
        """Draw a run's faults. One run in eight is calm."""
        is_calm = random.random() < 0.12
        kinds = frozenset(kind for kind in KINDS if random.random() < 0.35 and not is_calm)

        def rate(kind: str, most: float) -> float:
            share = random.uniform(most / 4, most)
            return share if kind in kinds else 0.0

        return cls(
            kinds=kinds,
            until=random.uniform(8, 12) if "stand" in kinds else random.uniform(2, 6),
            replies=rate("reply", 0.05),
            losses=rate("message", 0.2),
            doubles=rate("message", 0.3),
            delays=rate("message", 0.3),
            database=rate("database", 0.03),
            engine=rate("engine", 0.02),
            kills=rate("kill", 0.2),
            stands=rate("stand", 0.2),
            stops=rate("stop", 0.05),
        )

    @property
    def is_calm(self) -> bool:
        return not self.kinds

"""A process that starts again each time that it ends. Knows nothing of what else runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from webapp.operations.supervisor.backoff import Backoff
from webapp.operations.supervisor.child import Child


@dataclass
class Part:
    """A process of the product, and how to start it again."""

    start: Callable[[], Child]
    child: Child
    backoff: Backoff = field(default_factory=Backoff)
    due_at: float | None = None
    """The time of the next start; None: the process has not been found ended."""

    def keep(self, say: Callable[[str], None]) -> None:
        """Start the process again if it has ended, later each time that it ends soon."""
        if self.child.exit_status is None:
            return
        if self.due_at is None:
            delay_s = self.backoff.next_delay_s(self.child.age_s)
            self.due_at = time.monotonic() + delay_s
            when = f"in {delay_s:.0f} s" if delay_s else "now"
            say(f"the {self.child.title} process {self.child.ending()}; it starts again {when}")
        if time.monotonic() >= self.due_at:
            try:
                self.child, self.due_at = self.start(), None
            except OSError as error:  # no memory, no process or no file can be had at the moment
                self.due_at = time.monotonic() + self.backoff.next_delay_s(0)
                say(f"the {self.child.title} process cannot be started ({error}); it is tried again")

"""All measurements in turn, then the README's table: `python -m benchmarks`; about 45 minutes on a quiet machine.

Each one runs as a process of its own, so that none inherits another's memory or threads.
"""

from __future__ import annotations

import subprocess
import sys

from benchmarks.table import ORDER

if __name__ == "__main__":
    for name in (*ORDER, "roofline", "table"):
        subprocess.run([sys.executable, "-m", f"benchmarks.{name}"], check=True)

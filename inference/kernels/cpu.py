"""Reads which instructions the CPU has. Knows nothing of the kernels that use them."""

from __future__ import annotations

import platform
import re
import subprocess
from functools import cache
from pathlib import Path

_APPLE_NAMES = {"feat_dotprod": "asimddp", "feat_i8mm": "i8mm"}
"""Linux's names of the features that macOS names otherwise."""


@cache
def cpu_features() -> frozenset[str]:
    """Return this CPU's features by Linux's names, such as avx2 or asimddp; empty where the system does not tell."""
    return features_in(platform.system(), _report(platform.system()))


def features_in(system: str, report: str) -> frozenset[str]:
    """Return the features in a system's report: /proc/cpuinfo on Linux, `sysctl -a` on macOS ("Darwin")."""
    if system == "Darwin":
        apple = re.findall(r"^hw\.optional\.arm\.(\w+): 1$", report, re.MULTILINE)
        intel = re.findall(r"^machdep\.cpu\.(?:leaf7_)?features: (.*)$", report, re.MULTILINE)
        names = [name.lower() for name in [*apple, *" ".join(intel).split()]]
        return frozenset(_APPLE_NAMES.get(name, name) for name in names)
    found = re.search(r"^(?:flags|Features)\s*:(.*)$", report, re.MULTILINE)
    return frozenset(found[1].split() if found else ())


def _report(system: str) -> str:
    try:
        if system == "Darwin":
            return subprocess.run(["sysctl", "-a"], check=False, capture_output=True, text=True, timeout=10).stdout
        return Path("/proc/cpuinfo").read_text("utf-8")
    except (OSError, subprocess.TimeoutExpired):
        return ""

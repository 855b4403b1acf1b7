"""Finds a Chromium for the browser tests: prints its path, or exits with 1."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def find_chromium() -> str | None:
    """The system's browser, or the one that Playwright installed for itself."""
    for name in ("chromium", "chromium-browser", "google-chrome"):
        if path := shutil.which(name):
            return path
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        path = playwright.chromium.executable_path
        return path if Path(path).exists() else None


if __name__ == "__main__":
    found = find_chromium()
    print(found or "no Chromium found")
    sys.exit(0 if found else 1)

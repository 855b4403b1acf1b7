"""Measures the promises of docs/reliability.md with real signals to real processes, and writes their table.

`python -m tests.scoreboard --help` runs it by hand. Knows nothing of how the product keeps a promise.
"""

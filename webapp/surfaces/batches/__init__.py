"""Batches of calls, which run while the engine is idle, and the files that they read and write.

Knows nothing of HTTP, and nothing of a family's forms: a `Form` reads and writes these.
"""

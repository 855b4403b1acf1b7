"""Recordings: what a program sends through an address of its user's own, turn by turn.

Knows nothing of HTTP, and nothing of how a request is begun.
"""

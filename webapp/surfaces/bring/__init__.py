"""A request or an answer that a person brings as text: its kind, its answer, its prefix. Pure.

Knows nothing of HTTP, of models, and of the families' parsers.
"""

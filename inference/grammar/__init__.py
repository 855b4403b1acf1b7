"""Constraints on an answer's form, JSON Schema or regular expression, as masks of tokens. Knows nothing of sampling."""

"""Drafting: guesses of the next tokens, and how many of them pay. Knows nothing of sampling and logs."""

"""Scheduling: sequences, blocks, the prefix cache and the users' turns. Knows nothing of tensors, models and texts."""

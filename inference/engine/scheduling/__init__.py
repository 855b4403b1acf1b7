"""Scheduling: sequences, blocks, the prefix cache and whose turn it is. Knows nothing of tensors, models and texts."""

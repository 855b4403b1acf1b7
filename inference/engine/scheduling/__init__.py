"""Sequences, blocks, the prefix cache and the principals' turns. Knows nothing of tensors, models and texts."""

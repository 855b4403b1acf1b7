"""Examines the model on demand: attention, logit lens, neighbours of an embedding, memory of keys and values."""

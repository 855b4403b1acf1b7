"""The engine: many sequences, one step at a time. Knows nothing of queues, logs or the web."""

"""The models that this site knows, and which of them it offers. Knows nothing of requests."""

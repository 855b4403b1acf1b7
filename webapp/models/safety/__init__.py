"""The versions of the safety policy that operators save. Knows nothing of requests."""

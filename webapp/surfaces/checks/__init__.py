"""The check of a registered model: one test generation on the ordinary path. Knows nothing of HTTP."""

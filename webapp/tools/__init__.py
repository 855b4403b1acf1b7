"""Tools that the server runs itself. Knows nothing of requests and of models."""

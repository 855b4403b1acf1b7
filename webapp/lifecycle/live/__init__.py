"""The service as it is now: what each inference worker does, what waits, and the last fifteen minutes of both."""

"""Django's PostgreSQL with a limit on every wait. Settings name this package as the engine."""

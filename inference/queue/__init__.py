"""Makes Celery apps: `make_app` in app.py. Knows nothing of what their tasks do, nor of Django and torch."""

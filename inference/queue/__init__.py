"""Makes Celery apps: `make_app` in app.py. Knows nothing of their tasks, Django or torch."""

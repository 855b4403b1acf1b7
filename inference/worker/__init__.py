"""Celery apps: `inference.worker.app` makes tokens, its tasks share one engine thread; `inference.worker.probe_app`
probes the model, in a process of its own."""

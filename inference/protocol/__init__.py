"""The shared vocabulary of web site and inference worker: requests, events, frames and their codec.

Knows nothing of Django, Celery, Redis or torch: only msgspec and the standard library.
"""

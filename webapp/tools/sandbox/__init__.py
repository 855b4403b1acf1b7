"""Runs Python code that a model wrote, isolated by the kernel. Knows nothing of tools and of models."""

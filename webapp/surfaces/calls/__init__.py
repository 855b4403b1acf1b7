"""Calls of API clients: messages, tools and settings in; one or more requests, and their answers as they come.

Knows nothing of HTTP, and nothing of the families of APIs.
"""

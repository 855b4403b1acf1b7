"""The OpenAI-compatible API: parse a body, project the event log, and errors in its form."""

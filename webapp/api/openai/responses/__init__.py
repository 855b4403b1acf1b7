"""OpenAI's responses: parse a body, project the event log, read stored ones again."""

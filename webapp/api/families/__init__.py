"""What the OpenAI- and Anthropic-compatible APIs share at the edge. Knows nothing of a family's forms."""

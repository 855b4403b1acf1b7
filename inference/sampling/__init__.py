"""From logits to a token, with a record of what each stage did. Knows nothing of models or requests."""

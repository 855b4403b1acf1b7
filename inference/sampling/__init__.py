"""From logits to a token, with a record of what each logits processor did. Knows nothing of models or requests."""

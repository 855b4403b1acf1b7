"""Model files as they lie on disk: headers, names, sizes. Knows nothing of what they mean; never imports torch."""

"""Model files on disk: headers, names, sizes. Knows nothing of their meaning; never imports torch."""

"""Models: their shape and what all decoders offer. Model files are read in sources/. Knows nothing of requests."""

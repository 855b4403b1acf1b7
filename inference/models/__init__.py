"""Models: their shape and the decoders' interface. Model files are read in sources/. Knows nothing of requests."""

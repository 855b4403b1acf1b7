"""Decoders: on the kernels, in PyTorch, on a GPU; with their attention and caches. Knows nothing of files."""

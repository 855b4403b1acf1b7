"""Decoders and their weights: read from model files into PyTorch. Knows nothing of requests or sampling."""

"""Text to token ids and back, from a GGUF file's own metadata. Knows nothing of models; never imports torch."""

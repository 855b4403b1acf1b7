"""Model files: opens GGUF files and Hugging Face folders as a `ModelSource`. Knows nothing of decoders."""

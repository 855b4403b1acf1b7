"""A model's weights in the forms that decoders multiply, and the files that keep them. Knows nothing of layers."""

"""Export and erasure of all that the product holds of a user. Knows nothing of HTTP."""

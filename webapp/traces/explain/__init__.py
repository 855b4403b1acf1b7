"""A saved trace in words and figures, for a program that reads it. Knows nothing of the database."""

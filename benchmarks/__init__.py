"""Measured figures: each module writes a file in results/, `table` puts them into the README."""

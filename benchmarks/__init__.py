"""Measured figures: each question is a module that writes a file in results/; `table` puts them into the README."""

"""Processes for code and work that nobody vouches for: each job is bounded, and what exceeds its bounds is ended."""

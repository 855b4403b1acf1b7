"""Processes for untrusted code and work: each job is bounded, and a process that exceeds its bounds is ended."""

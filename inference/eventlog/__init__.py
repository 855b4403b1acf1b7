"""The append-only event log of one request: interface, memory twin, Redis. Knows nothing of what events mean."""

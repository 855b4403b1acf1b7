"""A deterministic simulation of requests under faults: the product's own code, one seed, one simulated clock.

`python -m tests.simulation --help` runs it by hand. See docs/decisions/0081-requests-are-simulated-from-one-seed.md.
"""

"""Products, attention and sums in C, compiled where a compiler is found, in a form per instruction set.

Without them PyTorch computes the same, more slowly. Knows nothing of files, requests or scheduling.
"""

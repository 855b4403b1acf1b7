"""Products, attention and sums in C for CPUs with AVX-512 VNNI and BF16, compiled where a compiler is found.

Without them PyTorch computes the same, more slowly. Knows nothing of files, requests or scheduling.
"""

"""What a period would have cost under other prices, another time to live, or other breakpoints.

Simulates the prefix cache over saved prompts. Posts nothing, and changes no bill.
"""

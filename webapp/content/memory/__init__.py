"""Facts that a user wants remembered: rows, their search by meaning, and the words that ask for them."""

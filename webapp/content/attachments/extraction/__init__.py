"""Text out of files. Runs in a process of its own and imports nothing of the rest of the site."""

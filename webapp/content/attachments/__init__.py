"""Files that users attach to messages: read, cut into passages, and chosen for a prompt. Knows nothing of HTTP."""

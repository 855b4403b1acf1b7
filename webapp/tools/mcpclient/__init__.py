"""The client of MCP servers that the operator sets up: their tools, what is approved of them, and their calls."""

"""Sightglass as an MCP server: an agent reads its user's traces, and finds out what another agent's request did."""

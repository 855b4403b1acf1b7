"""The engine's own scheduler, blocks and prefix cache on a simulated clock, with no model."""

"""Settings of an answer that a user keeps under a name, to apply them to any conversation."""

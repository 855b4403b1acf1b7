"""A user's named settings of an answer, which apply to any conversation."""

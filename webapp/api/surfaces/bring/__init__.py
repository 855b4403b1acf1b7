"""Operations on a request that a person brings as text, read by the parsers of the live addresses."""

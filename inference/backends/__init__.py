"""Other sources of tokens than this worker's own engine, under the same contract."""

"""Files and batches in OpenAI's form."""

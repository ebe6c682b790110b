"""ELMo as a teacher: characters, the bidirectional language model, and its published files."""

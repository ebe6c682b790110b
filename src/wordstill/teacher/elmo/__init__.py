"""ELMo as a teacher: its bidirectional language model over characters, and its published files."""

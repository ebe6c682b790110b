"""What a model calculates in: numbers of one kind, 8 bits, or matrix tiles."""

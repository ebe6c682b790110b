"""Commands about the papers: their tables and their figures."""

"""Research questions on tables, answered with error bars: change, associations, senses, norms, word lists."""

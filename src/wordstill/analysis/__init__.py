"""Questions to tables, answered with their uncertainty: change, associations, senses, norms, word lists."""

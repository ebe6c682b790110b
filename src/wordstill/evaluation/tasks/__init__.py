"""Tasks that score vectors as they are; a task is one class and one row."""

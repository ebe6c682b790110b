"""Tasks without training; a task is one class and one row of ``TASKS``."""

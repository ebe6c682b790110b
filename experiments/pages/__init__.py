"""Generated blocks of the pages, a module for each kind of result."""

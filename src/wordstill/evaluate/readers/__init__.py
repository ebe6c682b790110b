"""How the published files, and a user's own, are read; one module for each kind of data."""

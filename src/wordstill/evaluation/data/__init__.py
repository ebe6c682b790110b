"""Data sets by checksum: the registry, finding and fetching files, and their readers."""

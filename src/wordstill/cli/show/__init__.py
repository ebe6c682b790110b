"""Commands that draw: ``wordstill explore`` and ``wordstill plot``."""

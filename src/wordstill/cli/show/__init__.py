"""What is looked at: ``wordstill explore`` and ``wordstill plot``."""

"""The command line: it parses, delegates, prints, and says what to do next."""

from wordstill.cli.app import app, main, run

__all__ = ["app", "main", "run"]

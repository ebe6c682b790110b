"""``python -m wordstill.cli`` is ``wordstill``."""

from wordstill.cli.app import main

main()

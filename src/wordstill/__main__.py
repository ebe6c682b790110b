"""``python -m wordstill`` is the command ``wordstill``."""

from wordstill.cli import main

if __name__ == "__main__":
    main()

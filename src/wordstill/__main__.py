"""``python -m wordstill`` is the command ``wordstill``."""

from wordstill.cli import run

if __name__ == "__main__":
    run()

#!/usr/bin/python3
"""Runs a command in a terminal of so many columns and prints, as plain text, what the screen shows at the end:

    .ci/record.py 60 build/release/rue tune photos/
"""
import os
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests/fixtures"))
from terminal import run_on_terminal  # noqa: E402


def main():
    if len(sys.argv) < 3 or not sys.argv[1].isdigit():
        sys.exit(__doc__)
    env = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    code, screen, _, _ = run_on_terminal(sys.argv[2:], int(sys.argv[1]), {**env, "TERM": "xterm-256color"}, os.getcwd())
    print(screen.text())
    sys.exit(code)


if __name__ == "__main__":
    main()

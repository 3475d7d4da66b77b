"""The command line: the only place that prints, reads arguments and chooses exit codes.

0 means done, 1 a mistake in a program, its input or a file, or a failed check, 2 misuse of the
command. Modules that take long to import are imported by the commands that need them.
"""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command that the process was started with."""
    from handcraft.cli.commands import handcraft

    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    handcraft(prog_name="handcraft")

"""The command line: the only place that prints, reads arguments and chooses exit codes.

0 means done, 1 a mistake in a program, its input or a file, or a failed check, 2 misuse of the
command. Modules that take long to import are imported by the commands that need them.
"""

from __future__ import annotations

import signal
import sys
from io import TextIOWrapper
from typing import NoReturn


def main() -> None:
    """Run the command that the process was started with."""
    from handcraft.cli.commands import handcraft

    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a closed one is None
            stream.reconfigure(errors="backslashreplace")
    for name in ("SIGTERM", "SIGHUP"):  # some systems have only the first
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) == signal.SIG_DFL:
            signal.signal(number, _stop)
    handcraft(prog_name="handcraft")


def _stop(number: int, _frame: object) -> NoReturn:
    """End the process in order, so that nothing half-written stays; the code is a shell's."""
    raise SystemExit(128 + number)

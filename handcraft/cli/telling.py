"""How a command ends: a mistake of the user's is told on stderr and gives exit code 1."""

from __future__ import annotations

import errno
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

import click

from handcraft.errors import FileError, HandcraftError, ProgramError, raise_all

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handcraft.errors import Notice

FAILED = 1
"""Exit code of a mistake, or of a failed check."""


class Commands(click.Group):
    """A group of commands whose users see errors, and no tracebacks."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was asked for.

        A reader that has gone away (`handcraft ... | head`) is left to click.
        """
        try:
            result = super().invoke(ctx)
            if sys.stdout is not None:  # it is where the process was started with it closed
                sys.stdout.flush()
        except HandcraftError as error:
            tell(error)
            ctx.exit(FAILED)
        except OSError as error:
            if error.errno == errno.EPIPE:
                raise
            _give_up(sys.stdout)
            tell(FileError("cannot-write", f"the output cannot be written: {_reason(error)}"))
            ctx.exit(FAILED)
        return result


def tell(message: object) -> None:
    """Write a message to stderr, its first line coloured on a terminal."""
    first, *others = str(message).split("\n")
    colour = "yellow" if "warning: " in first else "red"
    click.echo("\n".join([click.style(first, fg=colour), *others]), err=True)


def tell_warnings(warnings: Sequence[Notice], *, strict: bool) -> None:
    """Write a program's warnings to stderr, or raise them as errors.

    Raises:
        ProgramError: with every warning, if `strict`.
    """
    if strict:
        raise_all([ProgramError(w.code, w.message, w.span, help=w.help) for w in warnings])
    for warning in warnings:
        tell(warning)


def _give_up(stream: TextIO) -> None:
    """Point a stream to nowhere: what is left in its buffer cannot be written either."""
    with Path(os.devnull).open("w") as nowhere:
        os.dup2(nowhere.fileno(), stream.fileno())


def _reason(error: OSError) -> str:
    return (error.strerror or str(error)).lower()

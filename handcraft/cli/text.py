"""A text on the command line: one may begin with `-`, and is shown on one line."""

from __future__ import annotations

import re

import click

_NEGATIVE = re.compile(r"-\d")
_ESCAPES = str.maketrans({"\n": "\\n", "\t": "\\t", "\r": "\\r"})


class TextCommand(click.Command):
    """A command whose last argument is a text, which may begin with a negative number."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; what looks like an option and begins like a number is the text.

        Raises:
            click.UsageError: for any other unknown option.
        """
        try:
            return super().parse_args(ctx, list(args))
        except click.NoSuchOption as error:
            place = _place(args, error.option_name)
            if place is None:
                help_ = "help: before a text that begins with `-` write `--`"
                message = f"{error.format_message()}\n{help_}"
                raise click.UsageError(message, ctx) from None
            others = [*args[:place], *args[place + 1 :]]
        return super().parse_args(ctx, [*others, "--", args[place]])


def on_one_line(text: str) -> str:
    """Return a text with its line breaks and tabs escaped."""
    return text.translate(_ESCAPES)


def _place(args: list[str], option: str) -> int | None:
    """Return where the text stands that was taken for an option, if it begins like a number."""
    if _NEGATIVE.match(option) is None:
        return None
    return next(place for place, arg in enumerate(args) if arg.startswith(option))

"""Prints whole pages: plain text, and on a terminal with its numbers and strings in colour."""

from __future__ import annotations

import sys

import click


def print_page(text: str) -> None:
    """Write a page of text, which ends with a line break, to stdout."""
    if sys.stdout is None or not sys.stdout.isatty():
        click.echo(text, nl=False)
        return
    from rich.console import Console

    Console().print(text, markup=False, emoji=False, soft_wrap=True, end="")

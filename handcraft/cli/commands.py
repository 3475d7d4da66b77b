"""The command `handcraft` and its subcommands."""

from __future__ import annotations

import click

from handcraft.cli.check import check
from handcraft.cli.compile import compile_
from handcraft.cli.complete import complete
from handcraft.cli.cost import cost
from handcraft.cli.explain import explain
from handcraft.cli.export import export
from handcraft.cli.pattern import pattern
from handcraft.cli.run import run
from handcraft.cli.telling import Commands
from handcraft.version import __version__


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="handcraft")
def handcraft() -> None:
    """Compile programs in a small RASP-like language to exact transformer weights."""


for command in (compile_, pattern, complete, run, check, explain, cost, export):
    handcraft.add_command(command)

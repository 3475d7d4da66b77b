"""`handcraft explain`: every component in the program's own words, and what it did with a text."""

from __future__ import annotations

import click

from handcraft.cli.opening import Given, open_model
from handcraft.cli.options import program_options
from handcraft.cli.printing import print_page


@click.command()
@click.argument("file")
@click.option("--text", help="Also show what each head does with this text.")
@program_options
def explain(file: str, text: str | None, given: Given) -> None:
    """Explain the components of a model or a program FILE."""
    from handcraft.explain import explain as explained
    from handcraft.explain import explain_run

    model = open_model(file, given)
    run = "" if text is None else "\n" + explain_run(model, text)
    print_page(explained(model) + run)

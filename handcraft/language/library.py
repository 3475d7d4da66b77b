"""The library: definitions in the language, shipped with the package, read where they are used."""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from handcraft.errors import Source
from handcraft.language import syntax
from handcraft.language.parse import parse

DEFINED = re.compile(r"^(?:def\s+)?([A-Za-z_]\w*)\s*[=(]", re.MULTILINE)


@cache
def source() -> Source:
    """Return the library's text."""
    text = files("handcraft.language").joinpath("library.rasp").read_text(encoding="utf-8")
    return Source(text, "library.rasp")


@cache
def names() -> frozenset[str]:
    """Return the names that the library defines, without parsing it."""
    return frozenset(DEFINED.findall(source().text))


@cache
def definitions() -> dict[str, syntax.Definition | syntax.Assign]:
    """Return the statement that defines each name."""
    made: dict[str, syntax.Definition | syntax.Assign] = {}
    for statement in parse(source()).body:
        assert isinstance(statement, syntax.Definition | syntax.Assign)
        defined = (
            (statement.name,) if isinstance(statement, syntax.Definition) else statement.targets
        )
        made.update(dict.fromkeys(defined, statement))
    return made

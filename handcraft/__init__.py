"""handcraft: programs in a small RASP-like language become exact transformer weights.

Names are imported where they are first used, so that running a model file needs no parser.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from handcraft.errors import HandcraftError as HandcraftError
from handcraft.version import __version__ as __version__

if TYPE_CHECKING:
    from handcraft.compiler.patterns.program import pattern as pattern
    from handcraft.compiler.pipeline import compile as compile
    from handcraft.exporting.export import export as export
    from handcraft.language.program import Program as Program
    from handcraft.language.program import parse as parse
    from handcraft.runtime.model import Model as Model
    from handcraft.runtime.storage import load as load

HOMES = {
    "Model": "handcraft.runtime.model",
    "Program": "handcraft.language.program",
    "compile": "handcraft.compiler.pipeline",
    "export": "handcraft.exporting.export",
    "load": "handcraft.runtime.storage",
    "parse": "handcraft.language.program",
    "pattern": "handcraft.compiler.patterns.program",
}
"""The module that each public name comes from."""

__all__ = [
    "HandcraftError",
    "Model",
    "Program",
    "__version__",
    "compile",
    "export",
    "load",
    "parse",
    "pattern",
]


def __getattr__(name: str) -> object:
    if name not in HOMES:
        raise AttributeError(f"module `handcraft` has no attribute `{name}`")
    return getattr(import_module(HOMES[name]), name)


def __dir__() -> list[str]:
    return __all__

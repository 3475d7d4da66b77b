"""The libraries of the extra `export`, imported only where one is needed."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from handcraft.errors import HandcraftError

if TYPE_CHECKING:
    from types import ModuleType


def extra(module: str) -> ModuleType:
    """Return a library, or refuse what needs it where it cannot be imported.

    Raises:
        HandcraftError: `missing-extra`.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise HandcraftError(
            "missing-extra",
            f"`{module}` cannot be imported; it comes with the extra `export`",
            help="pip install 'handcraft[export]'",
        ) from error

"""handcraft: programs in a small RASP-like language become exact transformer weights."""

from handcraft.errors import HandcraftError as HandcraftError
from handcraft.language.program import Program as Program
from handcraft.language.program import parse as parse

__version__ = "0.1.0"

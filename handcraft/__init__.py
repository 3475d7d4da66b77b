"""handcraft: programs in a small RASP-like language become exact transformer weights."""

from handcraft.compiler.pipeline import compile as compile
from handcraft.errors import HandcraftError as HandcraftError
from handcraft.language.program import Program as Program
from handcraft.language.program import parse as parse
from handcraft.runtime.model import Model as Model
from handcraft.runtime.storage import load as load
from handcraft.version import __version__ as __version__

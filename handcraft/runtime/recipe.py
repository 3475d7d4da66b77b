"""What a model was compiled from and how: all that it takes to compile it again, as plain data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, NoReturn, TypeAlias

from handcraft.errors import HandcraftError

if TYPE_CHECKING:
    from handcraft.runtime.vocabulary import Token

Gap: TypeAlias = Literal["least"]
"""How far apart scores are, instead of so far that nothing leaks."""

Mode: TypeAlias = Literal["causal", "bidirectional"]


@dataclass(frozen=True, slots=True)
class ProgramText:
    """A text of a program.

    Attributes:
        name: of its file, without folders; `<text>` where there was none.
        text: all of it, comments included.
    """

    name: str
    text: str


@dataclass(frozen=True, slots=True)
class LoadedText:
    """What a `load` statement has read.

    Attributes:
        within: the number of the text with the statement.
        path: as it is written there.
        text: the number of the text that was read.
    """

    within: int
    path: str
    text: int


@dataclass(frozen=True, slots=True)
class Origin:
    """What a program was read from: its texts, and what was given in place of its statements.

    Attributes:
        texts: the program's own, then those that it loads; the library is not among them.
        loads: which statement has read which of them.
        vocab: characters as one string, or a list of tokens; None where it was not given.
        context: None where it was not given.
        attention: the same.
        output: the expression that replaced the result; None where it was not given.
    """

    texts: tuple[ProgramText, ...]
    loads: tuple[LoadedText, ...] = ()
    vocab: str | tuple[Token, ...] | None = None
    context: int | None = None
    attention: Mode | None = None
    output: str | None = None

    def __post_init__(self) -> None:
        if not self.texts:
            _refuse("a program has a text")
        for text in self.texts:
            if not text.name or "/" in text.name:
                _refuse(f"`{text.name}` is no name of a file without its folders")
        known = range(len(self.texts))
        for load in self.loads:
            if load.within not in known or load.text not in known:
                _refuse(f"`{load.path}` is loaded from a text that is not there")
        if len({(load.within, load.path) for load in self.loads}) < len(self.loads):
            _refuse("a path is loaded as two texts")


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a model was compiled from, and how.

    Attributes:
        origin: the program.
        optimize: the level.
        formats: what it was compiled for at once, the format of these weights first.
        gap: how far apart scores are; None where nothing leaks.
        scale: what scores are multiplied by; None where the compiler chose it.
        allow_unproved: whether it was compiled without proof, if need be.
    """

    origin: Origin
    optimize: int = 1
    formats: tuple[str, ...] = ("float32",)
    gap: Gap | None = None
    scale: int | None = None
    allow_unproved: bool = False

    def __post_init__(self) -> None:
        if not self.formats:
            _refuse("a model is compiled for a format")

    @property
    def texts(self) -> tuple[ProgramText, ...]:
        """The program's own text, then those that it loads."""
        return self.origin.texts


def _refuse(message: str) -> NoReturn:
    raise HandcraftError("bad-description", message)

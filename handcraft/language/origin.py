"""Where the texts of a program come from: files, or what a program was read from before.

A file that is loaded is found beside the file that names it, and each `load` statement is read
once, so that what is kept is what was meant.
"""

from __future__ import annotations

from pathlib import Path, PurePath, PurePosixPath
from typing import TYPE_CHECKING, cast

from handcraft.errors import FileError, ProgramError, Source
from handcraft.language.files import read_source
from handcraft.runtime.recipe import LoadedText, Mode, Origin, ProgramText

if TYPE_CHECKING:
    from handcraft.errors import Span
    from handcraft.language.elaborate import Reader
    from handcraft.language.header import Given


class Texts:
    """The texts of a program, kept while they are read."""

    def __init__(self, main: Source, reader: Reader) -> None:
        self._reader = reader
        self._numbers = {main: 0}
        self._loads: dict[tuple[int, str], Source] = {}

    def read(self, path: str, within: Source, span: Span) -> Source:
        """Return what a `load` statement names, and keep it."""
        place = self._numbers[within], path
        if place not in self._loads:
            loaded = self._reader(path, within, span)
            self._numbers.setdefault(loaded, len(self._numbers))
            self._loads[place] = loaded
        return self._loads[place]

    def origin(self, given: Given, output: str | None) -> Origin:
        """Return everything that was read, with what was given and found to be right."""
        return Origin(
            tuple(ProgramText(PurePath(s.name).name, s.text) for s in self._numbers),
            tuple(
                LoadedText(within, path, self._numbers[loaded])
                for (within, path), loaded in self._loads.items()
            ),
            given.vocab if isinstance(given.vocab, str | None) else tuple(given.vocab),
            None if given.context is None else int(given.context),
            cast("Mode | None", given.attention),
            output,
        )


def from_files(path: str, within: Source, span: Span) -> Source:
    """Return the file that a `load` statement names; a `Reader`."""
    target = Path(within.name).parent / path
    try:
        return read_source(target, target.as_posix())
    except FileError as error:
        raise ProgramError(error.code, error.message, span, help=error.help) from None


def from_origin(origin: Origin, main: Source) -> Reader:
    """Return a `Reader` of the texts that a program was read from before.

    Their names are the paths from its own text, so that no two of them are one.
    """
    loads = {(load.within, load.path): load.text for load in origin.loads}
    numbers = {main: 0}

    def reader(path: str, within: Source, span: Span) -> Source:
        number = loads.get((numbers[within], path))
        if number is None:
            raise ProgramError("no-file", f"the text of `{path}` was not kept", span)
        name = PurePosixPath(within.name).parent / path
        loaded = Source(origin.texts[number].text, name.as_posix())
        numbers[loaded] = number
        return loaded

    return reader

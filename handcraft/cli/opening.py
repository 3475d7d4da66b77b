"""Opens what an argument names: a program, a model file, or a program of the shipped gallery."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

import click

from handcraft.cli.telling import tell_warnings
from handcraft.errors import FileError, HandcraftError, InputError, ProgramError, Source, Span
from handcraft.shipped import shipped

if TYPE_CHECKING:
    from handcraft.language.program import Program
    from handcraft.runtime.model import Model
    from handcraft.runtime.vocabulary import Kind, Token

SUFFIX = ".rasp"
MODEL_SUFFIX = ".npz"
FOLDER = "programs"

_RANGE = re.compile(r"(-?\d{1,9})\.\.(-?\d{1,9})")
_LIST = re.compile(r"""\[\s*["'\d-].*\]""", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Given:
    """What the command line says in place of a program's header and result."""

    vocab: str | None
    context: int | None
    attention: str | None
    output: str | None

    @property
    def flags(self) -> tuple[str, ...]:
        """The options that were given."""
        return tuple(f"--{f.name}" for f in fields(self) if getattr(self, f.name) is not None)


def open_program(name: str, given: Given, *, strict: bool = False) -> Program:
    """Return the program of a file, or of the gallery if there is no such file; tell its warnings.

    Raises:
        ProgramError: with every mistake of the program, or, if `strict`, with every warning.
        FileError: `no-file` and others, if it cannot be read.
    """
    path = find_program(name)
    from handcraft.language.program import parse

    program = parse(
        path,
        vocab=None if given.vocab is None else read_vocab(given.vocab),
        context=given.context,
        attention=given.attention,
        output=given.output,
    )
    tell_warnings(program.warnings, strict=strict)
    return program


def open_model(name: str, given: Given, optimize: int | None = None) -> Model:
    """Return the model of an `.npz` file, or compile a program at a level, 1 if None.

    Raises:
        ProgramError: with every mistake of the program.
        FileError: if the file cannot be read, or is no model.
    """
    if is_program(name):
        from handcraft.compiler.pipeline import compile_program

        level = 1 if optimize is None else optimize
        return compile_program(open_program(name, given), optimize=level).model
    flags = (*given.flags, *(() if optimize is None else ("--optimize",)))
    if flags:
        raise click.UsageError(f"{flags[0]} is for programs, and `{name}` is a model")
    from handcraft.runtime.storage import load

    return load(name)


def is_program(name: str) -> bool:
    """Return whether a name means a program: by its ending, its content, or the gallery."""
    path = Path(name)
    if name.endswith(SUFFIX):
        return True
    if path.exists():
        return path.is_file() and not _is_model(path)
    return in_gallery(name) is not None


def find_program(name: str) -> Path:
    """Return the path of a program, shown as it was written.

    Raises:
        FileError: `no-file`, with the nearest program of the gallery.
        InputError: `not-a-program` for a model file.
    """
    path = Path(name)
    if _is_model(path):
        message = f"`{name}` is a model, and this needs the program that it was made from"
        raise InputError("not-a-program", message, help="name the `.rasp` file")
    if path.exists():
        return path
    found = in_gallery(name)
    if found is not None:
        return found
    known = sorted(program.stem for program in gallery().glob(f"*{SUFFIX}"))
    near = get_close_matches(path.stem, known, n=1)
    help_ = f"the gallery has `{FOLDER}/{near[0]}{SUFFIX}`" if near else None
    raise FileError("no-file", f"there is no file `{name}`", help=help_)


def _is_model(path: Path) -> bool:
    """Return whether a file is a model: by its ending, or as a zip archive begins."""
    if path.suffix == MODEL_SUFFIX:
        return True
    if path.suffix == SUFFIX or not path.is_file():
        return False
    try:
        with path.open("rb") as file:
            return file.read(2) == b"PK"
    except OSError:
        return False


def in_gallery(name: str) -> Path | None:
    """Return the gallery's program of that name: `programs/aab.rasp`, `aab.rasp` or `aab`."""
    path = Path(name)
    if path.parent not in {Path(), Path(FOLDER)} or path.suffix not in {"", SUFFIX}:
        return None
    found = gallery() / f"{path.stem}{SUFFIX}"
    return found if found.is_file() else None


def gallery() -> Path:
    """Return the folder of the gallery: in the package, or beside it in a checkout."""
    return Path(str(shipped(FOLDER)))


def read_vocab(text: str) -> str | tuple[Token, ...] | range:
    """Return the tokens of `--vocab`: `abc` characters, `0..9` a range, `["a", "b"]` a list.

    Raises:
        ProgramError: where these cannot be the tokens of a program, placed in the option.
    """
    tokens = _listed(text)
    from handcraft.language.header import LARGEST_VOCABULARY
    from handcraft.runtime.vocabulary import vocabulary

    whole = Span(Source(text, "--vocab"), 0, len(text))
    if len(tokens) > LARGEST_VOCABULARY:
        message = f"a vocabulary of {len(tokens)} tokens is more than {LARGEST_VOCABULARY}"
        raise ProgramError("too-large", message, whole, help="give a smaller one")
    numbers = len(tokens) > 0 and isinstance(tokens[0], int)
    kind: Kind = "characters" if isinstance(tokens, str) else "integers" if numbers else "words"
    try:
        vocabulary(kind, tuple(tokens))
    except HandcraftError as error:
        raise ProgramError(error.code, error.message, whole, help=error.help) from None
    return tokens


def _listed(text: str) -> str | tuple[Token, ...] | range:
    match = _RANGE.fullmatch(text)
    if match is not None:
        return range(int(match[1]), int(match[2]) + 1)
    if _LIST.fullmatch(text) is None:
        return text
    try:
        listed = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        listed = None
    if not isinstance(listed, list) or not all(type(item) in (str, int) for item in listed):
        raise click.BadParameter(f"`{text}` is no list of tokens", param_hint="--vocab")
    return tuple(listed)

"""Files and folders that are written whole or not at all."""

from __future__ import annotations

import os
import shutil
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING

from handcraft.errors import FileError
from handcraft.runtime.checkpoint import MANIFEST_FILE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

EXPORTED = frozenset(
    (
        *("README.md", "config.json", "generation_config.json", "handcraft.json", "hooks.json"),
        *("model.gguf", "model.onnx", "model.safetensors", "model_args.json", "nanogpt.pt"),
        *("state_dict.pt", "tokenizer.json", "tokenizer_config.json"),
    )
)
"""The files of exports in any format: a folder with others in it is never replaced."""


def write_folder(target: Path, files: Mapping[str, bytes]) -> None:
    """Write files to a folder of their own, which is there whole or not at all.

    They are written beside the target, under a name that nothing else has, which then takes its
    place. An earlier export is replaced; any other folder with something in it is not.

    Raises:
        FileError: `cannot-write`; `exists`; `in-use` for the folder in which the process is.
    """
    with _told(target):
        target = Path(os.path.abspath(target))  # noqa: PTH100  (a link stays a link)
        _check_free(target)
        with _beside(target) as temporary:
            for name in sorted(files):
                (temporary / name).write_bytes(files[name])
            _put(temporary, target)


def write_file(target: Path, content: bytes) -> None:
    """Write a file, which is there whole or not at all.

    Raises:
        FileError: `cannot-write`.
    """
    with _told(target):
        target = Path(os.path.abspath(target))  # noqa: PTH100  (a link stays a link)
        if target.exists() and not target.is_file():
            raise FileError("cannot-write", f"cannot write `{target}`: it is no file")
        with _beside(target) as temporary:
            (temporary / target.name).write_bytes(content)
            (temporary / target.name).replace(target)


@contextmanager
def _told(target: Path) -> Iterator[None]:
    """Tell what the system refuses as one sentence about the target."""
    try:
        yield
    except OSError as error:
        reason = (error.strerror or type(error).__name__).lower()
        raise FileError("cannot-write", f"cannot write `{target}`: {reason}") from None


@contextmanager
def _beside(target: Path) -> Iterator[Path]:
    """Make a folder beside a target, which goes again whatever happens."""
    temporary: Path | None = None
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        temporary = _new_folder(target)
        yield temporary
    finally:
        if temporary is not None:
            shutil.rmtree(temporary, ignore_errors=True)


def _check_free(target: Path) -> None:
    if target.is_dir() and not target.is_symlink():
        if Path.cwd().is_relative_to(target.resolve()):
            message = f"`{target}` is where this runs, and cannot be replaced from within"
            raise FileError("in-use", message, help="name a new folder, or run it elsewhere")
        found = {path.name for path in target.iterdir()}
        if found and (MANIFEST_FILE not in found or found - EXPORTED):
            message = f"`{target}` is a folder with something else in it"
            raise FileError("exists", message, help="name a new folder, or an earlier export")
    elif target.exists() or target.is_symlink():
        raise FileError("exists", f"`{target}` is there and is no folder", help="name a new folder")


def _new_folder(target: Path) -> Path:
    for number in count():
        temporary = target.with_name(f".{target.name}.{number}.tmp")
        with suppress(FileExistsError):
            temporary.mkdir()
            return temporary
    raise AssertionError("numbers do not end")


def _put(temporary: Path, target: Path) -> None:
    """Let a folder take the place of another one, which is put back if that fails."""
    if not target.exists():
        temporary.rename(target)
        return
    old = _new_folder(target)
    try:
        target.replace(old / target.name)
        temporary.rename(target)
    finally:
        if not target.exists():
            (old / target.name).replace(target)
        shutil.rmtree(old, ignore_errors=True)

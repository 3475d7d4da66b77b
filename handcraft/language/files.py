"""Program files: UTF-8 text, or one sentence about why not."""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.errors import FileError, Source

if TYPE_CHECKING:
    from pathlib import Path

LARGEST = 16 * 2**20
"""Bytes of the largest program file."""


def read_source(path: Path, shown: str) -> Source:
    r"""Return the text of the file at `path`, its lines ended by `\n`, under the name `shown`.

    Raises:
        FileError: `no-file`, `is-a-folder`, `unreadable`, `too-large` or `not-text`.
    """
    try:
        with path.open("rb") as file:
            data = file.read(LARGEST + 1)
    except FileNotFoundError:
        raise FileError("no-file", f"there is no file `{shown}`") from None
    except IsADirectoryError:
        help_ = "name a file in it"
        raise FileError("is-a-folder", f"`{shown}` is a folder", help=help_) from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        message = f"`{shown}` cannot be read: {reason.lower()}"
        raise FileError("unreadable", message) from None
    if len(data) > LARGEST:
        message = f"`{shown}` has more than {LARGEST // 2**20} MiB"
        help_ = "split it, and `load` the parts"
        raise FileError("too-large", message, help=help_)
    return Source(_decoded(data, shown), shown)


def _decoded(data: bytes, shown: str) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"`{shown}` is not UTF-8 text: byte {data[error.start]:#04x} in line {line}"
        help_ = "save it as UTF-8; a compiled model is an `.npz`, a program a `.rasp`"
        raise FileError("not-text", message, help=help_) from None
    return text.replace("\r\n", "\n").replace("\r", "\n")

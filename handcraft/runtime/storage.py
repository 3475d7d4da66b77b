"""Model files: arrays and one JSON text in an `.npz`, the same bytes for the same model.

A file is data from anywhere, so reading believes no size that it states: members must be stored
plain and lie within the file, headers must promise what is there and what the config expects,
and nothing is unpickled. All this is checked before memory is taken.
"""

from __future__ import annotations

import re
import stat
import struct
import zipfile
from contextlib import suppress
from itertools import count
from math import prod
from typing import IO, TYPE_CHECKING, Any, NamedTuple, NoReturn

import numpy as np

from handcraft.errors import FileError, HandcraftError
from handcraft.runtime.arguments import file_path, format_name
from handcraft.runtime.checkpoint import load_folder
from handcraft.runtime.manifest import Manifest, read_manifest, write_manifest
from handcraft.runtime.model import Model
from handcraft.runtime.weights import FORMATS, Weights, check_names, check_shape, shapes

if TYPE_CHECKING:
    from os import PathLike
    from pathlib import Path

    from handcraft.runtime.arguments import Format
    from handcraft.runtime.weights import Array

MANIFEST = "handcraft.json"
"""The name of the JSON text among the arrays; numpy reads it as a string."""

LONGEST_MANIFEST = 1 << 24
"""Characters of JSON that a file may have."""

LONGEST_HEADER = 4096
"""Bytes that the header of an array may have."""

LONGEST_MESSAGE = 300
"""Characters that an error tells of what is wrong with a file."""

_MAGIC = b"\x93NUMPY"
_OLDEST = (1980, 1, 1, 0, 0, 0)
_HEADER = re.compile(
    r"\{'descr': '([<>|=]?[a-zA-Z]\d{0,9})', 'fortran_order': (True|False),"
    r" 'shape': \(((?:\d{1,18}, )*(?:\d{1,18},?)?)\), \} *\n"
)


def save(model: Model, path: str | PathLike[str]) -> None:
    """Write a model to a file, whole or not at all.

    Raises:
        FileError: `cannot-write`, `bad-path`.
    """
    target = file_path(path)
    if not target.name:
        raise FileError("cannot-write", f"cannot write `{target}`: it is a folder")
    if target.exists() and not (target.is_file() or target.is_dir()):
        raise FileError("cannot-write", f"cannot write `{target}`: it is no ordinary file")
    manifest = Manifest(model.config, model.vocabulary, model.description, model.source_vocabulary)
    members = {name: _npy(array) for name, array in model.weights.items()}
    text = write_manifest(manifest)
    if len(text) > LONGEST_MANIFEST:
        message = f"cannot write `{target}`: its JSON is longer than {LONGEST_MANIFEST} characters"
        raise FileError("cannot-write", message, help="shorten the program, whose text is in it")
    members[MANIFEST] = _npy_text(text)
    temporary: Path | None = None
    try:
        temporary, stream = _open_beside(target)
        with stream, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
            for name in sorted(members):
                archive.writestr(_member(f"{name}.npy"), members[name])
        temporary.replace(target)
    except OSError as error:
        raise FileError("cannot-write", f"cannot write `{target}`: {_reason(error)}") from None
    finally:
        if temporary is not None:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)


def load(path: str | PathLike[str], dtype: Format | None = None) -> Model:
    """Read a model from a file or an exported folder, in its own format or in `dtype`.

    Raises:
        FileError: `bad-path`, `cannot-read`, `bad-file`, `newer-format`.
        HandcraftError: `bad-dtype`, `bad-weights` where `dtype` cannot hold the weights;
            `missing-extra` for a folder, without the library that reads it.
    """
    source = file_path(path)
    wanted = None if dtype is None else format_name(dtype)
    model = _read(source)
    return model if wanted is None else model.astype(wanted)


def _open_beside(target: Path) -> tuple[Path, IO[bytes]]:
    """Open a new file in the folder of the target, under a name that nothing else has."""
    for number in count():
        temporary = target.with_name(f".{target.name}.{number}.tmp")
        with suppress(FileExistsError):
            return temporary, temporary.open("xb")
    raise AssertionError("numbers do not end")


def _member(name: str) -> zipfile.ZipInfo:
    """Return the entry of a member with nothing in it that depends on time or machine."""
    info = zipfile.ZipInfo(name, _OLDEST)
    info.create_system = 3
    info.external_attr = 0o644 << 16
    return info


def _npy(array: Array) -> bytes:
    descr = array.dtype.newbyteorder("<")
    return _npy_header(descr.str, array.shape) + array.astype(descr).tobytes()


def _npy_text(text: str) -> bytes:
    return _npy_header(f"<U{len(text)}", ()) + text.encode("utf-32-le")


def _npy_header(descr: str, shape: tuple[int, ...]) -> bytes:
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    before = len(_MAGIC) + 4
    text += " " * (-(before + len(text) + 1) % 64) + "\n"
    return _MAGIC + b"\x01\x00" + struct.pack("<H", len(text)) + text.encode("ascii")


class _Header(NamedTuple):
    """What the header of an array states, and where its numbers begin."""

    descr: str
    fortran_order: bool
    shape: tuple[int, ...]
    begin: int


def _read(source: Path) -> Model:
    """Read a file; whatever is wrong with it becomes one sentence that names the file."""
    try:
        status = source.stat()
        if stat.S_ISDIR(status.st_mode):
            return load_folder(source)
        if not stat.S_ISREG(status.st_mode):
            raise FileError("cannot-read", f"`{source}` is no regular file")
        with source.open("rb") as stream:
            return _model(_members(stream, status.st_size))
    except FileError:
        raise
    except HandcraftError as error:
        if error.code == "missing-extra":
            raise
        code = "newer-format" if error.code == "newer-format" else "bad-file"
        told = _printable(error.message)
        raise FileError(
            code, f"`{source}` is no model that can be read: {told}", help=error.help
        ) from None
    except OSError as error:
        raise FileError("cannot-read", f"cannot read `{source}`: {_reason(error)}") from None


def _printable(message: str) -> str:
    """Return a message with what a file put into it escaped and cut."""
    shown = "".join(c if c.isprintable() else ascii(c)[1:-1] for c in message[:LONGEST_MESSAGE])
    return shown if len(message) <= LONGEST_MESSAGE else f"{shown}..."


def _reason(error: OSError) -> str:
    return (error.strerror or type(error).__name__).lower()


def _members(stream: IO[bytes], size: int) -> dict[str, bytes]:
    """Return the members of the archive by name, after checking that they fit into the file."""
    try:
        with zipfile.ZipFile(stream) as archive:
            infos = archive.infolist()
            _check_entries(infos, size)
            return {info.filename.removesuffix(".npy"): archive.read(info) for info in infos}
    except (
        zipfile.BadZipFile,
        EOFError,
        NotImplementedError,
        OSError,
        OverflowError,
        RuntimeError,
        ValueError,
        struct.error,
    ):
        _refuse("it is no intact archive of arrays")


def _check_entries(infos: list[zipfile.ZipInfo], size: int) -> None:
    seen: set[str] = set()
    for info in infos:
        if not info.filename.endswith(".npy"):
            _refuse(f"the member `{info.filename}` is no array")
        if info.filename in seen:
            _refuse(f"the member `{info.filename}` is there twice")
        seen.add(info.filename)
        if info.compress_type != zipfile.ZIP_STORED:
            _refuse(f"the member `{info.filename}` is compressed")
    if sum(info.file_size for info in infos) > size:
        _refuse("its members are larger than the file")


def _model(members: dict[str, bytes]) -> Model:
    if MANIFEST not in members:
        _refuse(f"it has no `{MANIFEST}`")
    manifest = read_manifest(_text(members.pop(MANIFEST)))
    expected = shapes(manifest.config)
    check_names(expected, members)
    arrays = {name: _array(name, members[name], expected[name]) for name in sorted(members)}
    return Model(
        Weights(manifest.config, arrays),
        manifest.vocabulary,
        manifest.description,
        manifest.source_vocabulary,
    )


def _text(data: bytes) -> str:
    header = _header(MANIFEST, data)
    text = data[header.begin :]
    if len(text) > 4 * LONGEST_MANIFEST:
        _refuse(f"its JSON is longer than {LONGEST_MANIFEST} characters")
    if header.descr != f"<U{len(text) // 4}" or header.shape != () or len(text) % 4:
        _refuse(f"`{MANIFEST}` is no string")
    try:
        return text.decode("utf-32-le")
    except UnicodeDecodeError:
        _refuse(f"`{MANIFEST}` is no text")


def _array(name: str, data: bytes, expected: tuple[int, ...]) -> Array:
    header = _header(name, data)
    if header.descr.endswith("O"):
        _refuse(f"`{name}` is a pickled object, not numbers")
    dtype = _float_type(header.descr)
    if dtype is None:
        _refuse(f"`{name}` is of type `{header.descr}`, expected {', '.join(FORMATS)}")
    check_shape(name, expected, header.shape)
    promised = prod(header.shape) * dtype.itemsize
    if len(data) - header.begin != promised:
        _refuse(f"`{name}` has {len(data) - header.begin} bytes, expected {promised}")
    array: Array = np.frombuffer(data, dtype, offset=header.begin)
    return array.reshape(header.shape, order="F" if header.fortran_order else "C")


def _float_type(descr: str) -> np.dtype[np.floating[Any]] | None:
    if descr not in {order + size for order in "<>" for size in ("f8", "f4", "f2")}:
        return None
    dtype: np.dtype[np.floating[Any]] = np.dtype(descr)
    return dtype


def _header(name: str, data: bytes) -> _Header:
    """Read the header of an array as numpy writes it, by pattern and never by evaluation."""
    version = data[6:8]
    size = 2 if version == b"\x01\x00" else 4
    begin = 8 + size
    if data[:6] != _MAGIC or version not in {b"\x01\x00", b"\x02\x00", b"\x03\x00"}:
        _refuse(f"`{name}` is no array")
    length = int.from_bytes(data[8:begin], "little")
    text = data[begin : begin + min(length, LONGEST_HEADER)].decode("latin-1")
    found = _HEADER.fullmatch(text)
    if found is None or len(text) != length:
        _refuse(f"`{name}` has no header that can be read")
    shape = tuple(int(number) for number in re.findall(r"\d+", found[3]))
    return _Header(found[1], found[2] == "True", shape, begin + length)


def _refuse(message: str) -> NoReturn:
    raise HandcraftError("bad-file", message)

"""Metadata and arrays -> the bytes of a GGUF file, version 3.

A header of counts, the metadata, a table of arrays, then the arrays themselves. Everything is
little-endian, and each array begins at a multiple of 32 bytes.
"""

from __future__ import annotations

from struct import pack
from typing import TYPE_CHECKING, TypeAlias, assert_never

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handcraft.runtime.weights import Array

Metadata: TypeAlias = (
    bool | int | float | str | tuple[int, ...] | tuple[float, ...] | tuple[str, ...]
)
"""Whole numbers are written as 32 bits: without sign if they stand alone, with it in a list."""

VERSION = 3
ALIGNMENT = 32

UINT32, INT32, FLOAT32, BOOL, STRING, LIST = 4, 5, 6, 7, 8, 9
"""The numbers of the types of metadata."""

ARRAY_OF_FLOAT32 = 0
"""The number of the type of arrays."""


def file_bytes(metadata: Mapping[str, Metadata], arrays: Mapping[str, Array]) -> bytes:
    """Return a file with these metadata and arrays, which are written in float32."""
    data = {name: _padded(np.asarray(array, "<f4").tobytes()) for name, array in arrays.items()}
    table, offset = [], 0
    for name, array in arrays.items():
        sizes = array.shape[::-1]
        entry = pack(f"<I{len(sizes)}QIQ", len(sizes), *sizes, ARRAY_OF_FLOAT32, offset)
        table.append(_string(name) + entry)
        offset += len(data[name])
    counts = pack("<4sIQQ", b"GGUF", VERSION, len(arrays), len(metadata))
    pairs = (_string(key) + _typed(value) for key, value in metadata.items())
    return b"".join((_padded(b"".join((counts, *pairs, *table))), *data.values()))


def _padded(written: bytes) -> bytes:
    return written + bytes(-len(written) % ALIGNMENT)


def _string(text: str) -> bytes:
    written = text.encode()
    return pack("<Q", len(written)) + written


def _typed(value: Metadata) -> bytes:
    match value:
        case bool():
            return pack("<I?", BOOL, value)
        case int():
            return pack("<II", UINT32, value)
        case float():
            return pack("<If", FLOAT32, value)
        case str():
            return pack("<I", STRING) + _string(value)
        case tuple():
            return pack("<I", LIST) + _list(value)
        case _:
            assert_never(value)


def _list(items: tuple[int, ...] | tuple[float, ...] | tuple[str, ...]) -> bytes:
    match items[0]:
        case int():
            return pack(f"<IQ{len(items)}i", INT32, len(items), *items)
        case float():
            return pack(f"<IQ{len(items)}f", FLOAT32, len(items), *items)
        case str():
            return pack("<IQ", STRING, len(items)) + b"".join(map(_string, map(str, items)))
        case _:
            assert_never(items[0])

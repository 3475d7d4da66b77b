"""Files from anywhere: each is refused with one sentence, at once, without taking memory."""

from __future__ import annotations

import os
import time
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from hostile_files import HOSTILE, change, saved
from hypothesis import given, settings
from hypothesis import strategies as st
from runtime_models import handmade

from handcraft.errors import FileError
from handcraft.runtime.storage import load

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_file_is_refused_with_one_sentence(tmp_path: Path, name: str) -> None:
    made, message = HOSTILE[name]
    path = tmp_path / "evil.npz"
    path.write_bytes(made())
    size = path.stat().st_size
    before = time.perf_counter()
    with pytest.raises(FileError) as caught:
        load(path)
    assert time.perf_counter() - before < 1
    assert caught.value.code == "bad-file"
    assert caught.value.message.startswith(f"`{path}` is no model that can be read: {message}")
    assert caught.value.__cause__ is None
    assert "\n" not in caught.value.message
    assert size < 4_000_000


@pytest.mark.parametrize(
    "name", ["bomb", "gigabytes", "promised-by-the-directory", "overlapping", "huge-config"]
)
def test_a_promise_of_gigabytes_takes_no_memory(tmp_path: Path, name: str) -> None:
    path = tmp_path / "evil.npz"
    path.write_bytes(HOSTILE[name][0]())
    tracemalloc.start()
    with pytest.raises(FileError):
        load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2_000_000


def test_a_file_of_a_newer_format_says_so(tmp_path: Path) -> None:
    path = tmp_path / "future.npz"
    path.write_bytes(change(format=2, colour="red")())
    with pytest.raises(FileError) as caught:
        load(path)
    assert caught.value.code == "newer-format"
    assert "made by a newer version (format 2, this version reads 1)" in caught.value.message
    assert caught.value.help == "install a newer version of handcraft"


def test_what_is_no_regular_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot read .*: no such file or directory"):
        load(tmp_path / "nothing.npz")
    with pytest.raises(FileError, match=r"is a folder without `handcraft\.json`"):
        load(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileError, match="is no regular file"):
        load(tmp_path / "pipe")


@settings(max_examples=150, deadline=None)
@given(st.integers(0), st.integers(0, 255), st.integers(0))
def test_a_damaged_file_is_refused_or_says_the_same(
    tmp_path_factory: pytest.TempPathFactory, place: int, byte: int, cut: int
) -> None:
    raw = bytearray(saved())
    raw[place % len(raw)] = byte
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    path.write_bytes(raw[: len(raw) - (cut % len(raw) if cut % 5 == 0 else 0)])
    try:
        model = load(path)
    except FileError:
        return
    for name, array in handmade().weights.items():
        assert model.weights[name].tobytes() == array.tobytes()

"""Exported folders from anywhere: what was cut, edited or mixed up is one sentence."""

from __future__ import annotations

import os
import re
import shutil
import struct
from typing import TYPE_CHECKING

import numpy as np
import pytest
from program_files import GALLERY

import handcraft
from handcraft.errors import FileError
from handcraft.exporting.export import export
from handcraft.exporting.stocked import stocked

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from handcraft.runtime.weights import Array

safetensors = pytest.importorskip("safetensors.numpy")

Arrays = dict[str, "Array"]
WTE, WPE, HEAD = "transformer.wte.weight", "transformer.wpe.weight", "lm_head.weight"


@pytest.fixture(scope="module")
def exported(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("exported") / "aab"
    export(handcraft.compile(handcraft.parse(GALLERY / "aab.rasp")), folder, to="gpt2")
    return folder


@pytest.fixture
def folder(exported: Path, tmp_path: Path) -> Path:
    """Return a copy of an exported folder, to be spoilt."""
    return shutil.copytree(exported, tmp_path / "aab")


def refusal(folder: Path) -> str:
    """Return what is told of a folder that is no model."""
    with pytest.raises(FileError) as caught:
        handcraft.load(folder)
    assert caught.value.code == "bad-file"
    return caught.value.message.removeprefix(f"`{folder}` is no model that can be read: ")


EDITS: dict[str, Callable[[Arrays], Arrays]] = {
    "`wte.weight` has the shape [] (1 numbers), expected [2, 16]": lambda a: (
        a | {WTE: np.ones((), np.float32)}
    ),
    "`wte.weight` has the shape [4, 16] (64 numbers), expected [2, 16]": lambda a: (
        a | {WTE: np.concatenate([a[WTE], a[WTE]])}
    ),
    "`lm_head.weight` has the shape [] (1 numbers), expected [2, 16]": lambda a: (
        a | {HEAD: np.ones((), np.float32)}
    ),
    "`lm_head.weight` is not `wte.weight`, and its config ties the two": lambda a: (
        a | {HEAD: a[WTE] + 1}
    ),
    "it has an array twice, with and without the prefix of Hugging Face's names": lambda a: (
        a | {"wte.weight": a[WTE]}
    ),
    "the array `wpe.weight` is missing": lambda a: {n: w for n, w in a.items() if n != WPE},
    "the array `h.9.ln_1.bias` has no place in this config": lambda a: (
        a | {"h.9.ln_1.bias": a[WTE]}
    ),
    "`wpe.weight` is float64, but `wte.weight` is float32": lambda a: (
        a | {WPE: a[WPE].astype(np.float64)}
    ),
    "`wte.weight` is not finite in float32: nan at [0, 0]": lambda a: a | {WTE: a[WTE] * np.nan},
}


@pytest.mark.parametrize("told", EDITS)
def test_edited_arrays_are_told(told: str, folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(safetensors.save(EDITS[told](safetensors.load(file.read_bytes()))))
    assert refusal(folder).startswith(told)


def test_a_tied_unembedding_may_be_there_once_more(folder: Path) -> None:
    file = folder / "model.safetensors"
    arrays = safetensors.load(file.read_bytes())
    file.write_bytes(safetensors.save(arrays | {HEAD: arrays[WTE]}))
    assert handcraft.load(folder).predict("aa") == "b"


def test_an_untied_unembedding_is_read_back_as_it_was_made(tmp_path: Path) -> None:
    model = handcraft.compile(
        'vocab "abc"; bos "^"; context 32; logits {"a": -5, "b": -1000 * indices, "c": -7};'
    )
    made = stocked(model, "epsilon", "gelu_new").model
    assert not made.config.tied
    export(model, tmp_path / "one", to="gpt2")
    read = handcraft.load(tmp_path / "one")
    assert read.parameters.equals(made.parameters)
    export(read, tmp_path / "two", to="gpt2")
    one, two = ((tmp_path / name / "model.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two


def test_formats_that_numpy_has_not_are_told(folder: Path) -> None:
    file = folder / "model.safetensors"
    file.write_bytes(re.sub(rb'"F32"', b'"F4"', file.read_bytes()))
    assert refusal(folder).startswith("`model.safetensors` cannot be read: ")
    torch = pytest.importorskip("torch")
    tensors = {WTE: torch.ones(2, 16, dtype=torch.float8_e4m3fn)}
    file.write_bytes(pytest.importorskip("safetensors.torch").save(tensors))
    assert refusal(folder).endswith("in another format than float64, float32, float16")


def test_a_file_larger_than_its_model_is_not_read(folder: Path) -> None:
    size = 1 << 40
    header = b'{"transformer.wte.weight":{"dtype":"F32","shape":[%d],"data_offsets":[0,%d]}}'
    header %= (size // 4, size)
    with (folder / "model.safetensors").open("wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(file.tell() + size)  # sparse: it takes no space
    assert refusal(folder) == "`model.safetensors` is larger than a model of its config can be"


@pytest.mark.parametrize("length", [0, 7, 50, 5000])
def test_a_cut_file_is_told(length: int, folder: Path) -> None:
    os.truncate(folder / "model.safetensors", length)
    assert refusal(folder).startswith("`model.safetensors` cannot be read: ")

"""Model files: the same bits back, the same bytes again, and nothing believed of hostile ones."""

from __future__ import annotations

import json
import os
import zipfile
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from gpt2_by_loops import logits_by_loops
from hypothesis import given, settings
from hypothesis import strategies as st
from runtime_models import handmade, number_model, random_weights, stock_config, table_model

from handcraft.errors import FileError, HandcraftError
from handcraft.runtime.certificate import Certificate, HeadBound, Threshold, Verdict
from handcraft.runtime.description import (
    Description,
    Lattice,
    Operation,
    ResidualVariable,
)
from handcraft.runtime.manifest import Manifest, read_manifest, write_manifest
from handcraft.runtime.model import Model
from handcraft.runtime.storage import load, save
from handcraft.runtime.vocabulary import vocabulary

if TYPE_CHECKING:
    from pathlib import Path

FULL = Description(
    "logits",
    margin=0.1,
    window_safe=True,
    residual=(ResidualVariable("tokens", 0, ("a", "b"), "the token at this position"),),
    operations=(
        Operation(0, "head", 1, "looks at the token before", 3),
        Operation(1, "mlp", 0, "", None),
    ),
    provenance={"program": "shift", "compiler": "0.1.0"},
    certificate=Certificate(
        (Verdict("float64", True, 0.0, 8.0), Verdict("float16", False, 9.5, 8.0, "too coarse")),
        (HeadBound("shift", 0, 1, 2.0, (0.0, 0.25)),),
        (Threshold("is_a", 1, 0, (100.5, 0.75)),),
    ),
)


def stock_model(dtype: str = "float64") -> Model:
    weights = random_weights(stock_config(tied=False), dtype=dtype)
    return Model(weights, vocabulary("characters", "abcdefgh✓", bos="✓", eos="h"), FULL)


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16"])
def test_a_loaded_model_has_the_same_bits(tmp_path: Path, dtype: str) -> None:
    model = stock_model(dtype)
    model.save(tmp_path / "model.npz")
    loaded = load(tmp_path / "model.npz")
    assert loaded.config == model.config
    assert loaded.vocabulary == model.vocabulary
    assert loaded.description == model.description
    assert list(loaded.weights) == list(model.weights)
    for name, array in model.weights.items():
        assert loaded.weights[name].dtype.name == dtype
        assert loaded.weights[name].tobytes() == array.tobytes()
    assert loaded.logits("abc").tobytes() == model.logits("abc").tobytes()


def test_saving_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    save(stock_model(), tmp_path / "first.npz")
    save(load(tmp_path / "first.npz"), tmp_path / "second.npz")
    first = (tmp_path / "first.npz").read_bytes()
    assert (tmp_path / "second.npz").read_bytes() == first
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first.npz", "second.npz"]


def test_members_are_sorted_plain_and_dated_1980(tmp_path: Path) -> None:
    save(stock_model(), tmp_path / "model.npz")
    with zipfile.ZipFile(tmp_path / "model.npz") as archive:
        infos = archive.infolist()
    assert [i.filename for i in infos] == sorted(i.filename for i in infos)
    assert {i.date_time for i in infos} == {(1980, 1, 1, 0, 0, 0)}
    assert {i.compress_type for i in infos} == {zipfile.ZIP_STORED}


def test_numpy_reads_the_file_without_pickle(tmp_path: Path) -> None:
    model = stock_model("float32")
    save(model, tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as archive:
        assert set(archive) == {*model.weights, "handcraft.json"}
        assert archive["wte.weight"].dtype.str == "<f4"
        assert np.array_equal(archive["h.0.mlp.c_fc.weight"], model.weights["h.0.mlp.c_fc.weight"])
        members = json.loads(str(archive["handcraft.json"]))
    assert members["format"] == 1
    assert members["vocabulary"]["bos"] == "✓"


def test_a_file_that_numpy_wrote_loads_and_agrees_with_loops(tmp_path: Path) -> None:
    model = stock_model()
    manifest = write_manifest(Manifest(model.config, model.vocabulary, model.description))
    arrays: dict[str, Any] = {**model.weights, "handcraft.json": np.array(manifest)}
    arrays["wpe.weight"] = np.asfortranarray(arrays["wpe.weight"].astype(">f8"))
    np.savez(tmp_path / "model.npz", **arrays)
    loaded = load(tmp_path / "model.npz")
    expected = logits_by_loops(
        {name: array.tolist() for name, array in model.weights.items()},
        loaded.encode("cab").tolist(),
        heads=[3, 2, 0],
        causal=True,
        activation="gelu_new",
        epsilon=1e-5,
    )
    np.testing.assert_allclose(loaded.logits("cab"), expected, rtol=1e-12, atol=1e-12)


def test_a_model_loads_in_another_format(tmp_path: Path) -> None:
    save(handmade(), tmp_path / "aab.npz")
    assert load(tmp_path / "aab.npz", "float16").parameters.dtype.name == "float16"
    with pytest.raises(HandcraftError, match="there is no format `int8`"):
        load(tmp_path / "aab.npz", "int8")


@pytest.mark.parametrize(
    "model",
    [
        table_model({"a": [9, 0, 0], "b": [0, 9, 0], "c": [0, 0, 9]}, (True, Fraction(-1, 3), "1")),
        number_model((Fraction(1, 7), 10**30), {"a": 0.2}),
        number_model(Lattice(Fraction(-1, 2), Fraction(3), Fraction(1, 5), 6), {"a": 0.2}),
    ],
)
def test_outputs_keep_kind_and_value(tmp_path: Path, model: Model) -> None:
    save(model, tmp_path / "model.npz")
    outputs = load(tmp_path / "model.npz").description.outputs
    assert outputs == model.description.outputs
    if isinstance(outputs, tuple) and isinstance(model.description.outputs, tuple):
        assert list(map(type, outputs)) == list(map(type, model.description.outputs))


def test_an_existing_file_is_replaced(tmp_path: Path) -> None:
    (tmp_path / "model.npz").write_text("old", encoding="utf-8")
    save(handmade(), tmp_path / "model.npz")
    assert load(tmp_path / "model.npz").complete("aab") == "aabaabaaba"


def test_a_failed_write_leaves_nothing_behind(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    (tmp_path / "model.npz").write_text("old", encoding="utf-8")
    monkeypatch.setattr(zipfile.ZipFile, "writestr", fail)
    with pytest.raises(FileError, match="no space left on device") as caught:
        save(handmade(), tmp_path / "model.npz")
    assert caught.value.code == "cannot-write"
    assert [path.name for path in tmp_path.iterdir()] == ["model.npz"]
    assert (tmp_path / "model.npz").read_text(encoding="utf-8") == "old"


def test_a_folder_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(FileError, match="no such file or directory"):
        save(handmade(), tmp_path / "nowhere" / "model.npz")


names = st.text(max_size=5)
fractions = st.fractions()
values = st.one_of(st.integers(), st.booleans(), names, fractions)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(values).map(tuple),
    st.floats(0, allow_infinity=False),
    st.dictionaries(names, names),
    st.lists(st.builds(ResidualVariable, names, st.integers(), st.lists(names).map(tuple), names)),
)
def test_every_description_reads_as_it_was_written(
    outputs: tuple[Any, ...],
    margin: float,
    provenance: dict[str, str],
    residual: list[ResidualVariable],
) -> None:
    described = Description(
        "output", outputs, margin, residual=tuple(residual), provenance=provenance
    )
    manifest = Manifest(stock_config(), vocabulary("integers", range(-3, 6), eos="."), described)
    text = write_manifest(manifest)
    assert read_manifest(text) == manifest
    assert write_manifest(read_manifest(text)) == text
    assert text.isascii()


def test_a_device_is_never_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(FileError, match="no ordinary file"):
        table_model({"a": [1, 0]}, (1, 2)).save(pipe)
    assert pipe.is_fifo()

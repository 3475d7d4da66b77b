"""Misuse from Python ends in one sentence: numbers, ids, paths and formats of a wrong kind."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runtime_models import handmade, random_model

import handcraft
from handcraft.errors import FileError, HandcraftError, InputError


@pytest.mark.parametrize(
    ("options", "code", "message"),
    [
        ({"n": "3"}, "bad-length", "`n` is a whole number, found `'3'`"),
        ({"n": 2.5}, "bad-length", "`n` is a whole number, found `2.5`"),
        ({"n": True}, "bad-length", "`n` is a whole number, found `True`"),
        ({"seed": "x"}, "bad-seed", "a seed is a whole number, found `'x'`"),
        ({"seed": 1.5}, "bad-seed", "a seed is a whole number, found `1.5`"),
        ({"top_k": 1.5}, "bad-top-k", "`top_k` is a whole number, found `1.5`"),
        ({"temperature": "hot"}, "bad-temperature", "a temperature is a number, found `'hot'`"),
        ({"temperature": None}, "bad-temperature", "a temperature is a number, found `None`"),
        (
            {"temperature": 10**400},
            "bad-temperature",
            "a temperature is a number that float64 can hold",
        ),
    ],
)
def test_what_complete_cannot_use_is_told(options: dict[str, Any], code: str, message: str) -> None:
    with pytest.raises(InputError) as caught:
        handmade().complete("a", **options)
    assert (caught.value.code, caught.value.message) == (code, message)


def test_numbers_of_numpy_are_numbers() -> None:
    model = random_model(window_safe=True)
    options: dict[str, Any] = {
        "n": np.int64(7),
        "temperature": np.float32(0.5),
        "top_k": np.int8(3),
        "seed": np.uint8(5),
    }
    given = model.complete("abc", **options)
    assert given == model.complete("abc", 7, seed=5, temperature=0.5, top_k=3)


@pytest.mark.parametrize(
    ("ids", "message"),
    [
        (["a"], "an id is a whole number, found `'a'`"),
        ([1.5], "an id is a whole number, found `1.5`"),
        ([[0], [0, 1]], "an id is a whole number, found `[0]`"),
        (3, "ids are a list of whole numbers, found `int`"),
        ("ab", "ids are a list of whole numbers, found `str`"),
    ],
)
def test_only_whole_numbers_are_decoded(ids: Any, message: str) -> None:
    with pytest.raises(InputError) as caught:
        handmade().decode(ids)
    assert (caught.value.code, caught.value.message) == ("bad-ids", message)


def test_an_array_of_ids_is_decoded() -> None:
    assert handmade().decode(np.array([1, 0, 0])) == "baa"
    with pytest.raises(InputError, match="ids are a list of whole numbers"):
        handmade().decode(np.array(1))


@pytest.mark.parametrize("call", [handcraft.load, handmade().save])
@pytest.mark.parametrize(
    ("path", "message"),
    [
        (5, "a path is a string or a `Path`, found `int`"),
        (None, "a path is a string or a `Path`, found `NoneType`"),
        (b"aab.npz", "a path is a string or a `Path`, found `bytes`"),
        ("a\0b", "a path has no null character in it"),
    ],
)
def test_a_file_needs_a_path(call: Any, path: Any, message: str) -> None:
    with pytest.raises(FileError) as caught:
        call(path)
    assert (caught.value.code, caught.value.message) == ("bad-path", message)


@pytest.mark.parametrize("path", ["", ".", Path("/")])
def test_a_folder_without_a_name_is_not_written(path: str | Path) -> None:
    with pytest.raises(FileError, match="it is a folder") as caught:
        handmade().save(path)
    assert caught.value.code == "cannot-write"


@pytest.mark.parametrize("dtype", ["float16", np.float16, np.dtype("float16")])
def test_a_format_is_given_by_name_or_as_the_type_of_numpy(dtype: Any, tmp_path: Path) -> None:
    handmade().save(tmp_path / "a.npz")
    program = 'vocab "ab"; context 3; predict tokens;'
    for model in (
        handmade().astype(dtype),
        handcraft.load(tmp_path / "a.npz", dtype),
        handcraft.compile(program, dtype=dtype),
    ):
        assert model.parameters.dtype.name == "float16"


@pytest.mark.parametrize(
    ("dtype", "shown"),
    [
        ("double", "double"),
        (int, "<class 'int'>"),
        (np.dtype("int8"), "dtype('int8')"),
        (5, "5"),
        (["float32"], "['float32']"),
    ],
)
def test_another_format_is_refused_with_those_there_are(
    dtype: Any, shown: str, tmp_path: Path
) -> None:
    calls: tuple[Any, ...] = (
        lambda: handmade().astype(dtype),
        lambda: handcraft.load(tmp_path / "missing.npz", dtype),
        lambda: handcraft.compile('vocab "ab"; context 3; predict tokens;', dtype=dtype),
    )
    for call in calls:
        with pytest.raises(HandcraftError) as caught:
            call()
        assert caught.value.message == f"there is no format `{shown}`"
        assert caught.value.help == "use one of float64, float32, float16"


def test_an_empty_list_is_one_empty_text() -> None:
    with pytest.raises(InputError, match="the text is empty"):
        handmade().complete([])


def test_a_trace_is_a_mapping_from_the_names_of_its_activations() -> None:
    trace = handmade().trace("ab")
    assert list(trace.keys()) == list(trace)
    assert dict(trace)["logits"] is trace.logits
    with pytest.raises(InputError, match="`5` is no activation of this model"):
        trace[5]  # type: ignore[index]

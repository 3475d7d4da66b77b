"""A model file carries its program: read from the file alone, it compiles to the same model."""

from __future__ import annotations

from dataclasses import replace
from shutil import rmtree
from typing import TYPE_CHECKING, Any

import pytest
from program_files import EVERY, GALLERY

import handcraft
from handcraft.compiler.pipeline import compile_in
from handcraft.compiler.recompile import recompile
from handcraft.errors import HandcraftError, ProgramError
from handcraft.runtime.model import Model
from handcraft.runtime.recipe import LoadedText, Origin, ProgramText, Recipe
from handcraft.runtime.vocabulary import vocabulary
from handcraft.runtime.weights import Weights

if TYPE_CHECKING:
    from pathlib import Path

    from handcraft.runtime.description import Description

PATTERNS = sorted((GALLERY / "patterns").glob("*.rasp"))
LAST = 'vocab "abc"; context 4; predict tokens;'


def kept(model: Model, folder: Path) -> Model:
    """Return a model as it comes out of its file."""
    model.save(folder / "kept.npz")
    return handcraft.load(folder / "kept.npz")


def with_description(model: Model, description: Description) -> Model:
    return Model(model.parameters, model.vocabulary, description, model.source_vocabulary)


def with_origin(model: Model, **changes: Any) -> Model:
    recipe = model.description.recipe
    assert recipe is not None
    recipe = replace(recipe, origin=replace(recipe.origin, **changes))
    return with_description(model, replace(model.description, recipe=recipe))


def check_same(model: Model) -> None:
    """Check that recompiling gives the model with everything that it says."""
    again = recompile(model)
    assert again.model.parameters.equals(model.parameters)
    assert again.model.description == model.description
    assert again.placed.graph is again.graph


@pytest.mark.parametrize("path", [*EVERY, *PATTERNS], ids=lambda path: path.stem)
def test_a_program_file_compiles_again_from_its_model_file(path: Path, tmp_path: Path) -> None:
    check_same(kept(handcraft.compile(path), tmp_path))


@pytest.mark.parametrize("level", [0, 2])
@pytest.mark.parametrize("name", ["aab", "sort", "hist", "translate", "patterns/triangle"])
def test_it_is_compiled_at_its_own_level(name: str, level: int, tmp_path: Path) -> None:
    model = handcraft.compile(GALLERY / f"{name}.rasp", optimize=level)
    assert model.description.recipe is not None
    assert model.description.recipe.optimize == level
    check_same(kept(model, tmp_path))


@pytest.mark.parametrize(
    ("program", "options"),
    [
        ("output reverse(tokens);", {"vocab": "abc", "context": 5}),
        ("output indices;", {"vocab": ["hello", "a"], "context": 3, "attention": "causal"}),
        ("output tokens + indices;", {"vocab": range(-3, 4), "context": 4}),
        ("output tokens;", {"vocab": [3, -1, 7], "context": 2}),
        ("n = indices;", {"vocab": "ab", "context": 3, "output": "n + 1  # one more"}),
        (LAST, {"context": 7, "vocab": "xyz", "attention": "bidirectional"}),
        (LAST, {"dtype": "float16"}),
        (LAST, {"dtype": "float64", "optimize": 2}),
        ('vocab "ab"; context 9; output length;', {"gap": "least"}),
        ('vocab "ab"; context 9; output length;', {"scale": 1024, "allow_unproved": True}),
    ],
)
def test_what_was_given_from_outside_is_given_again(
    program: str, options: dict[str, Any], tmp_path: Path
) -> None:
    check_same(kept(handcraft.compile(program, **options), tmp_path))


@pytest.mark.parametrize(
    "options",
    [
        {"text": "(aab)*"},
        {"text": "a*b", "vocab": "abc", "bos": "^", "eos": "."},
        {"text": "(if fi|fi)*", "vocab": ["if", "fi"], "eos": "end"},
        {"table": {"start": 0, "accept": [1], 0: {5: 1}, 1: {6: 0}}},
    ],
)
def test_the_model_of_a_pattern_carries_a_program_too(
    options: dict[str, Any], tmp_path: Path
) -> None:
    check_same(kept(handcraft.pattern(**options, context=8), tmp_path))


def test_files_that_are_gone_are_not_missed(tmp_path: Path) -> None:
    folder = tmp_path / "secret"
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "main.rasp").write_text(
        'vocab "abc"; context 4; load "deep/main.rasp"; load "other.rasp"; output twice(one(0));'
    )
    (folder / "deep" / "main.rasp").write_text(
        'load "er/main.rasp"; load "../other.rasp"; def twice(x) { return x + two(x); }'
    )
    (folder / "deep" / "er" / "main.rasp").write_text("def two(x) { return x * 2; }")
    (folder / "other.rasp").write_text("def one(x) { return indices + 1 + x; }")
    model = kept(handcraft.compile(folder / "main.rasp"), tmp_path)
    rmtree(folder)
    check_same(model)
    recipe = model.description.recipe
    assert recipe is not None
    names = [text.name for text in recipe.texts]
    assert names == ["main.rasp", "main.rasp", "main.rasp", "other.rasp", "other.rasp"]
    assert "secret" not in repr(recipe)


def test_a_program_of_the_library_keeps_no_text_but_its_own() -> None:
    model = handcraft.compile('vocab "abc"; context 4; output sort(tokens, tokens);')
    text = ProgramText("<text>", 'vocab "abc"; context 4; output sort(tokens, tokens);')
    assert model.description.recipe == Recipe(Origin((text,)))


def test_formats_that_were_compiled_together_are_proved_together_again(tmp_path: Path) -> None:
    program = handcraft.parse('vocab "ab"; context 9; output length;')
    made = compile_in(program, ("float32", "float16"), gap="least")
    for name, other in (("float32", "float16"), ("float16", "float32")):
        model = kept(made[name].model, tmp_path)
        assert model.description.recipe is not None
        assert model.description.recipe.formats == (name, other)
        check_same(model)


@pytest.mark.parametrize("made", ["float64", "float32", "float16"])
@pytest.mark.parametrize("read", ["float64", "float32", "float16"])
def test_a_model_in_another_format_is_what_its_program_gives_when_rounded(
    made: str, read: str
) -> None:
    check_same(handcraft.compile(GALLERY / "aab.rasp", dtype=made).astype(read))


def test_a_model_without_its_program_is_refused() -> None:
    model = handcraft.compile(LAST)
    with pytest.raises(HandcraftError, match="this model does not carry its program") as found:
        recompile(with_description(model, replace(model.description, recipe=None)))
    assert (found.value.code, found.value.help) == ("no-program", "compile it again")


@pytest.mark.parametrize("name", ["wte.weight", "wpe.weight"])
def test_weights_that_were_edited_are_refused(name: str) -> None:
    model = handcraft.compile(LAST)
    edited = model.weights[name].copy()
    edited[-1, -1] += 2**-20
    parameters = Weights(model.config, {**model.weights, name: edited})
    with pytest.raises(HandcraftError, match="not those that its program compiles to") as found:
        recompile(Model(parameters, model.vocabulary, model.description))
    assert found.value.code == "other-weights"
    assert found.value.help is not None


def test_another_program_of_the_same_shape_is_refused() -> None:
    other = with_origin(handcraft.compile(LAST), context=5)
    with pytest.raises(HandcraftError) as found:
        recompile(other)
    assert found.value.code == "other-weights"


def test_a_vocabulary_that_was_edited_is_refused() -> None:
    model = handcraft.compile(LAST)
    with pytest.raises(HandcraftError, match="the vocabulary is not the one") as found:
        recompile(Model(model.parameters, vocabulary("characters", "acb"), model.description))
    assert found.value.code == "other-vocabulary"


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"texts": (ProgramText("a.rasp", 'vocab "ab"; context 4; predict nothing;'),)}, "a.rasp"),
        ({"texts": (ProgramText("a.rasp", "load"),)}, "a.rasp"),
        ({"texts": (ProgramText("a.rasp", f'load "gone.rasp";{LAST}'),)}, "no-file"),
        ({"context": -4}, "no-context"),
        ({"output": "tokens; tokens"}, "syntax"),
    ],
)
def test_a_program_that_does_not_compile_is_refused_at_its_place(
    changes: dict[str, Any], code: str
) -> None:
    with pytest.raises(ProgramError) as found:
        recompile(with_origin(handcraft.compile(LAST), **changes))
    assert code in str(found.value)


def test_texts_that_load_each_other_come_to_an_end() -> None:
    texts = (ProgramText("a.rasp", f'load "b";{LAST}'), ProgramText("b.rasp", 'load "c/b";' * 9))
    loads = (LoadedText(0, "b", 1), LoadedText(1, "c/b", 1))
    with pytest.raises(ProgramError) as found:
        recompile(with_origin(handcraft.compile(LAST), texts=texts, loads=loads))
    assert found.value.code in {"too-deep", "too-large"}

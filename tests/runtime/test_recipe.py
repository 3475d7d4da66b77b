"""What a model file says of its program: it reads as it was written, and nothing else is read."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from runtime_models import handmade

import handcraft
from handcraft.errors import FileError, HandcraftError
from handcraft.runtime import storage
from handcraft.runtime.manifest import Manifest, read_manifest, write_manifest
from handcraft.runtime.model import Model
from handcraft.runtime.recipe import LoadedText, Origin, ProgramText, Recipe

if TYPE_CHECKING:
    from pathlib import Path

RECIPE = Recipe(
    Origin(
        (ProgramText("main.rasp", 'load "lib/a.rasp";\n'), ProgramText("a.rasp", "x = 1;\n")),
        (LoadedText(0, "lib/a.rasp", 1),),
        ("yes", "no"),
        7,
        "causal",
        "x + indices",
    ),
    2,
    ("float32", "float16"),
    "least",
    None,
    allow_unproved=True,
)

words = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
origins = st.builds(
    Origin,
    st.lists(st.builds(ProgramText, st.sampled_from(["<text>", "é.rasp"]), words), min_size=1).map(
        tuple
    ),
    st.just(()),
    st.none() | words | st.lists(st.integers() | words).map(tuple),
    st.none() | st.integers(),
    st.sampled_from([None, "causal", "bidirectional"]),
    st.none() | words,
)
recipes = st.builds(
    Recipe,
    origins,
    st.integers(),
    st.lists(words, min_size=1).map(tuple),
    st.sampled_from([None, "least"]),
    st.none() | st.integers(),
    st.booleans(),
)


def carrying(recipe: Recipe | None) -> Model:
    model = handmade()
    described = replace(model.description, recipe=recipe)
    return Model(model.parameters, model.vocabulary, described)


def written(model: Model) -> str:
    return write_manifest(Manifest(model.config, model.vocabulary, model.description))


@settings(max_examples=60, deadline=None)
@given(recipes)
def test_every_recipe_reads_as_it_was_written(recipe: Recipe) -> None:
    text = written(carrying(recipe))
    assert read_manifest(text).description.recipe == recipe
    assert text.isascii()


def test_a_recipe_survives_the_file(tmp_path: Path) -> None:
    carrying(RECIPE).save(tmp_path / "one.npz")
    model = handcraft.load(tmp_path / "one.npz")
    assert model.description.recipe == RECIPE
    model.save(tmp_path / "two.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()


def test_the_file_of_a_model_without_recipe_says_nothing_of_one() -> None:
    text = written(carrying(None))
    assert "recipe" not in text
    assert read_manifest(text).description.recipe is None


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"": 3}, "`recipe` of its JSON is `3`, not an object"),
        ({"colour": 1}, "`recipe.colour` is unknown in its JSON"),
        ({"optimize": "1"}, "`recipe.optimize` of its JSON is `'1'`, not a whole number"),
        ({"optimize": True}, "`recipe.optimize` of its JSON is `True`, not a whole number"),
        ({"formats": "float32"}, "`recipe.formats` of its JSON is `'float32'`, not a list"),
        ({"formats": []}, "a model is compiled for a format"),
        ({"gap": "most"}, "`recipe.gap` of its JSON is `'most'`, not one of least"),
        ({"scale": 1.5}, "`recipe.scale` of its JSON is `1.5`, not a whole number"),
        ({"allow_unproved": 1}, "`recipe.allow_unproved` of its JSON is `1`, not true or false"),
        ({"origin": []}, "`recipe.origin` of its JSON is `[]`, not an object"),
        ({"origin.folder": "x"}, "`recipe.origin.folder` is unknown in its JSON"),
        ({"origin.texts": []}, "a program has a text"),
        ({"origin.texts.0.text": None}, "`recipe.origin.texts[0].text` of its JSON is `None`"),
        ({"origin.texts.0.name": "/home/a.rasp"}, "`/home/a.rasp` is no name of a file without"),
        ({"origin.texts.1.name": ""}, "`` is no name of a file without its folders"),
        ({"origin.loads": {}}, "`recipe.origin.loads` of its JSON is `{}`, not a list"),
        ({"origin.loads.0.text": 2}, "`lib/a.rasp` is loaded from a text that is not there"),
        ({"origin.loads.0.within": -1}, "`lib/a.rasp` is loaded from a text that is not there"),
        ({"origin.loads.0.path": 0}, "`recipe.origin.loads[0].path` of its JSON is `0`, not text"),
        ({"origin.loads": [{"within": 0, "path": "a", "text": 1}] * 2}, "loaded as two texts"),
        ({"origin.vocab": 5}, "`recipe.origin.vocab` of its JSON is `5`, not a list"),
        ({"origin.vocab": ["a", 0.5]}, "`recipe.origin.vocab[1]` of its JSON is `0.5`"),
        ({"origin.context": "8"}, "`recipe.origin.context` of its JSON is `'8'`"),
        ({"origin.attention": "both"}, "not one of causal, bidirectional"),
        ({"origin.output": 1}, "`recipe.origin.output` of its JSON is `1`, not text"),
    ],
)
def test_a_hostile_recipe_is_refused(change: dict[str, Any], told: str) -> None:
    members = json.loads(written(carrying(RECIPE)))
    for path, value in change.items():
        *folders, name = ["recipe", *path.split(".")] if path else ["recipe"]
        place = members
        for folder in folders:
            place = place[int(folder) if folder.isdigit() else folder]
        place[name] = value
    with pytest.raises(HandcraftError) as found:
        read_manifest(json.dumps(members))
    assert told in found.value.message


def test_a_program_too_long_to_be_read_again_is_not_saved(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = carrying(RECIPE)
    monkeypatch.setattr(storage, "LONGEST_MANIFEST", len(written(model)) - 1)
    with pytest.raises(FileError, match="its JSON is longer than") as found:
        model.save(tmp_path / "long.npz")
    assert found.value.help == "shorten the program, whose text is in it"
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr(storage, "LONGEST_MANIFEST", len(written(model)))
    model.save(tmp_path / "long.npz")
    assert handcraft.load(tmp_path / "long.npz").description.recipe == RECIPE

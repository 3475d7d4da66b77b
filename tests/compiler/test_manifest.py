"""The manifest: every component has its lines, and every line its components or its fate."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import handcraft
from handcraft.errors import HandcraftError
from handcraft.runtime.lines import SourceLine, by_line
from handcraft.runtime.manifest import Manifest, read_manifest, write_manifest

GALLERY = Path(__file__).parents[2] / "programs"
PROGRAM = """\
vocab "abcd";
context 6;
limit = 3;
def twice(x) {
    y = x + x;
    return y;
}
near = select(indices, indices - 1, ==);
before = aggregate(near, tokens, "_");
n = selector_width(select(tokens, tokens, ==)) + 1;
m = twice(n);
unused = shift(tokens, 1, "_");
early = indices < limit;
output (m if before == "a" else 0) + indicator(early);
"""


def lines(text: str | Path, level: int = 1) -> dict[int | None, SourceLine]:
    return {
        line.line: line for line in by_line(handcraft.compile(text, optimize=level).description)
    }


def folded(text: str, level: int = 1) -> dict[int, str]:
    model = handcraft.compile(text, optimize=level)
    return {each.line: each.text for each in model.description.folded}


@pytest.mark.parametrize("level", [0, 1, 2])
@pytest.mark.parametrize("name", ["sort", "addition", "balanced", "aab", "most_frequent_so_far"])
def test_every_head_neuron_and_direction_belongs_to_one_operation(name: str, level: int) -> None:
    model = handcraft.compile(GALLERY / f"{name}.rasp", optimize=level)
    shown = by_line(model.description)
    operations = {o for line in shown for o in line.operations}
    assert operations == set(model.description.operations)
    variables = {v for line in shown for v in line.variables}
    assert variables == set(model.description.residual)
    for number, layer in enumerate(model.config.layers):
        here = [o for o in operations if o.layer == number]
        neurons = [
            n
            for o in here
            if o.kind == "mlp" and o.last is not None
            for n in range(o.index, o.last + 1)
        ]
        assert sorted(neurons) == list(range(len(neurons)))
        heads = sorted(o.index for o in here if o.kind == "head")
        assert heads == list(range(len(heads)))
        if level:
            assert (len(heads), len(neurons)) == (layer.n_head, layer.d_mlp)


@pytest.mark.parametrize("level", [0, 1, 2])
def test_every_line_has_components_or_a_fate_and_never_both(level: int) -> None:
    found = lines(PROGRAM, level)
    assert None not in found or found[None].folded is None
    for line in found.values():
        assert (line.folded is None) == bool(line.operations or line.variables)
    assert {3, 5, 8, 9, 10, 11, 12, 13, 14} <= found.keys()


def test_the_fate_of_a_line_is_told() -> None:
    assert folded(PROGRAM) == {
        3: "no component: known when compiling, or done by other lines",
        5: "folded into line 14",
        11: "no component: known when compiling, or done by other lines",
        12: "no component: nothing that is answered needs it",
        13: "folded into line 14",
    }


def test_at_level_0_steps_have_components_that_level_1_folds() -> None:
    at_0, at_1 = folded(PROGRAM, 0), folded(PROGRAM, 1)
    assert at_0.keys() < at_1.keys()
    assert {5, 13} <= at_1.keys() - at_0.keys()


def test_a_selector_is_used_by_the_line_of_its_head() -> None:
    text = 'vocab "ab";\ncontext 4;\na = past;\nnext = select(tokens, "a", ==);\n'
    text += "both = past and next;\noutput selector_width(both);"
    found = folded(text)
    assert found[4] == "no component: a selector used by line 5"


def test_a_selector_that_names_a_number_is_a_selector() -> None:
    text = "vocab 0..3;\ncontext 4;\nmore = select(tokens, 2, >);\n"
    text += "output sum(more and past, tokens) + 2 * indicator(tokens == 2);"
    assert folded(text)[3] == "no component: a selector used by line 4"


def test_a_head_that_does_the_work_of_two_lines_stands_in_both() -> None:
    text = 'vocab "ab";\ncontext 4;\nnear = select(indices, indices - 1, ==);\n'
    text += 'letter = aggregate(near, tokens, "_");\nplace = aggregate(near, indices, 9);\n'
    text += 'output (1 if letter == "a" else 0) + place;'
    found = lines(text)
    heads = [{o for o in found[n].operations if o.kind == "head"} for n in (4, 5)]
    assert heads[0] == heads[1]
    assert len(heads[0]) == 1
    assert [v.name for v in found[4].variables] == ["letter"]
    assert [v.name for v in found[5].variables] == ["place"]


def test_what_only_an_assumption_says_has_no_component() -> None:
    text = 'vocab "ab"; context 4;\nassume tokens == "a";\noutput indices;'
    assert folded(text)[2] == "no component: an assumption on the text"


def test_the_answer_is_read_at_every_line_that_gives_it() -> None:
    text = 'vocab "ab"; context 4;\nallow "a";\nallow "b" if tokens == "a";'
    found = lines(text)
    for number in (2, 3):
        assert "unembed" in {o.kind for o in found[number].operations}


def test_a_line_of_a_loaded_file_is_no_line_of_the_program(tmp_path: Path) -> None:
    (tmp_path / "f.rasp").write_text("\n" * 40 + "def count_all(x) {\n return count(x, 1);\n}\n")
    program = tmp_path / "p.rasp"
    program.write_text(
        'load "f.rasp";\nvocab 0..2;\ncontext 4;\nn = count_all(tokens);\noutput n + 1;\n'
    )
    found = lines(program)
    assert all(line is None or line <= 5 for line in found)
    assert found[4].folded == "no component: known when compiling, or done by other lines"


def test_an_answer_given_from_outside_has_no_line() -> None:
    text = 'vocab "ab"; context 4;\nn = indices + 1;\nk = 2;'
    model = handcraft.compile(text, output="k + n")
    (unembedding,) = (o for o in model.description.operations if o.kind == "unembed")
    assert unembedding.line is None
    told = {each.line: each.text for each in model.description.folded}
    assert told[2] == "folded into the answer"
    assert told[3] == "no component: known when compiling, or done by other lines"


def test_shared_directions_are_held_one_after_the_other() -> None:
    model = handcraft.compile(GALLERY / "balanced.rasp", optimize=2)
    held = [
        (v, direction)
        for v in model.description.residual
        for direction in range(v.first_direction, v.last_direction + 1)
    ]
    shared = [
        (one, other)
        for one, here in held
        for other, there in held
        if one.name < other.name and here == there
    ]
    assert shared
    for one, other in shared:
        assert one.layers is not None
        assert other.layers is not None
        assert one.layers[1] <= other.layers[0] or other.layers[1] <= one.layers[0]


def test_the_manifest_survives_the_file(tmp_path: Path) -> None:
    model = handcraft.compile(PROGRAM, optimize=2)
    model.save(tmp_path / "p.npz")
    assert by_line(handcraft.load(tmp_path / "p.npz").description) == by_line(model.description)


@pytest.mark.parametrize(
    ("member", "changes", "message"),
    [
        ("residual", {"line": "3"}, "`residual[0].line` of its JSON is `'3'`, not a whole number"),
        ("residual", {"layers": [1]}, "not a first and a last layer"),
        ("residual", {"layers": [0, "1"]}, "`residual[0].layers[1]` of its JSON is `'1'`, not a"),
        ("residual", {"layers": 4}, "`residual[0].layers` of its JSON is `4`, not a list"),
        ("operations", {"last": 1.5}, "`operations[0].last` of its JSON is `1.5`, not a whole"),
        ("operations", {"others": 7}, "`operations[0].others` of its JSON is `7`, not a list"),
        ("folded", {"text": None}, "`folded[0].text` of its JSON is `None`, not text"),
        ("folded", {"line": None}, "`folded[0].line` of its JSON is `None`, not a whole number"),
        ("folded", {"colour": 1}, "`folded[0].colour` is unknown in its JSON"),
    ],
)
def test_a_file_with_another_manifest_is_refused(
    member: str, changes: dict[str, Any], message: str
) -> None:
    model = handcraft.compile(PROGRAM)
    members = json.loads(
        write_manifest(Manifest(model.config, model.vocabulary, model.description))
    )
    members[member][0].update(changes)
    with pytest.raises(HandcraftError) as found:
        read_manifest(json.dumps(members))
    assert found.value.code == "bad-manifest"
    assert message in found.value.message


@pytest.mark.parametrize("level", [0, 1, 2])
def test_one_source_and_one_level_give_the_same_bytes(tmp_path: Path, level: int) -> None:
    for name in ("one", "two"):
        handcraft.compile(PROGRAM, optimize=level).save(tmp_path / f"{name}.npz")
    assert (tmp_path / "one.npz").read_bytes() == (tmp_path / "two.npz").read_bytes()

"""Explanations: whole texts for a model made by hand, and what they say of compiled ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import handcraft
from handcraft.errors import InputError
from handcraft.explain import counted, explain, explain_lines, explain_run, shown
from handcraft.runtime.config import Config, LayerConfig
from handcraft.runtime.description import Description, FoldedLine, Operation, ResidualVariable
from handcraft.runtime.model import Model
from handcraft.runtime.vocabulary import vocabulary
from handcraft.runtime.weights import Weights, shapes

GALLERY = Path(__file__).parents[1] / "programs"


def swap() -> Model:
    """Return a model with a start token that looks at everything so far and writes `y`."""
    config = Config(
        n_ctx=4, n_vocab=3, d_model=5, n_out=3, layers=(LayerConfig(1, 2, 3),), start=True
    )
    arrays: dict[str, np.ndarray[Any, np.dtype[np.float64]]] = {
        name: np.zeros(shape) for name, shape in shapes(config).items()
    }
    arrays["wte.weight"][0, 0] = arrays["wte.weight"][1, 1] = 1
    arrays["h.0.mlp.c_proj.bias"][1] = 9
    description = Description(
        "predict",
        margin=1.0,
        residual=(
            ResidualVariable("tokens", 0, ("x", "y"), "the token here"),
            ResidualVariable("rest", 2, ("rest",), "nothing"),
        ),
        operations=(
            Operation(-1, "embedding", 0, "`tokens` by token", None),
            Operation(0, "head", 0, "mean = aggregate(past, tokens)", 3),
            Operation(0, "mlp", 0, "`y` always", 14),
            Operation(1, "unembed", 0, "reads the tokens", None),
        ),
        provenance={"program": "swap.rasp"},
    )
    return Model(Weights(config, arrays), vocabulary("characters", "xy"), description)


def test_a_model_is_explained_by_its_residual_stream_and_its_components() -> None:
    assert (
        explain(swap())
        == """\
swap.rasp: predict, causal, context 3, not window-safe
tokens: x y
start token: in front of every text, seen by the heads only

residual stream: 5 directions
  0..1  tokens  [x y]  the token here
  2     rest    [rest]  nothing

embedding
  `tokens` by token
layer 0: 1 head of width 2, 3 neurons
  head 0          mean = aggregate(past, tokens)  (line 3)
  neurons from 0  `y` always  (line 14)
unembedding
  reads the tokens
"""
    )


def described(description: Description) -> Model:
    return Model(swap().parameters, swap().vocabulary, description)


def test_lines_are_explained_by_what_does_their_work() -> None:
    description = Description(
        "predict",
        residual=(
            ResidualVariable("tokens", 0, ("x", "y"), "the token here"),
            ResidualVariable("mean", 2, ("value",), "the mean", 3),
            ResidualVariable("far", 4, ("value",), "its own", 3),
        ),
        operations=(
            Operation(-1, "embedding", 0, "`tokens` by token", None),
            Operation(0, "head", 0, "mean", 3, None, (14,)),
            Operation(0, "mlp", 0, "first", 14, 0),
            Operation(0, "mlp", 1, "others", 3, 2),
            Operation(1, "unembed", 0, "reads", 14),
        ),
        folded=(FoldedLine(5, "folded into line 14"),),
    )
    assert (
        explain_lines(described(description))
        == """\
line 3   head 0.0; layer 0 neurons 1..2; directions 2 mean, 4 far
line 5   folded into line 14
line 14  head 0.0; layer 0 neuron 0; unembedding
no line  directions 0..1 tokens
"""
    )


def test_a_model_without_a_description_has_no_lines() -> None:
    assert explain_lines(described(Description("predict"))) == ""


def test_components_say_their_neurons_and_all_their_lines() -> None:
    description = Description(
        "predict",
        operations=(
            Operation(0, "head", 0, "near", 7, None, (3, 9)),
            Operation(0, "mlp", 0, "one", 14, 0),
            Operation(0, "mlp", 1, "two", 15, 2),
        ),
    )
    lines = explain(described(description)).splitlines()
    assert "  head 0        near  (lines 3, 7, 9)" in lines
    assert "  neuron 0      one  (line 14)" in lines
    assert "  neurons 1..2  two  (line 15)" in lines


def test_only_variables_that_share_directions_say_when_they_have_them() -> None:
    description = Description(
        "predict",
        residual=(
            ResidualVariable("wide", 0, ("x", "y", "z"), "first", None, (-1, 0)),
            ResidualVariable("low", 0, ("value",), "second", None, (0, 1)),
            ResidualVariable("high", 2, ("value",), "third", None, (0, 0)),
            ResidualVariable("own", 3, ("value",), "fourth", None, (0, 1)),
            ResidualVariable("unknown", 4, ("value",), "fifth"),
        ),
    )
    lines = explain(described(description)).splitlines()
    start = lines.index("residual stream: 5 directions") + 1
    assert [line.split("]  ")[1] for line in lines[start : start + 5]] == [
        "first; has these directions from the embedding to layer 0",
        "second; has these directions from layer 0 to the unembedding",
        "third; has these directions in layer 0 only",
        "fourth",
        "fifth",
    ]


def test_a_run_is_explained_by_the_pattern_of_each_head_and_the_answers() -> None:
    assert (
        explain_run(swap(), "xx")
        == """\
layer 0, head 0: mean = aggregate(past, tokens)
        start     x     x
  start     1     .     .
      x   .50   .50     .
      x   .33   .33   .33

answers
  x  y
  x  y
"""
    )


def test_a_text_that_does_not_fit_is_refused() -> None:
    with pytest.raises(InputError, match="the context is 3"):
        explain_run(swap(), "xxxx")


def test_a_bidirectional_prediction_is_shown_at_the_last_token_only() -> None:
    model = handcraft.compile('vocab "xyz"; context 4; attention bidirectional; predict tokens[0];')
    assert explain_run(model, "yxz").endswith("answers\n  z  y\n")


def test_a_start_token_of_the_program_has_no_answer() -> None:
    model = handcraft.compile('vocab "xy"; bos "^"; context 4; output tokens;')
    assert explain_run(model, "yx").endswith("answers\n  y  y\n  x  x\n")


def test_a_compiled_model_is_explained_in_the_programs_own_words() -> None:
    text = explain(
        handcraft.compile('vocab "xyz";\ncontext 4;\nmine = past;\noutput sum(mine, 1);')
    )
    assert "sum(mine, 1)" in text
    assert "(line 4)" in text


@pytest.mark.parametrize("name", ["aab", "recall", "sort", "running_mean"])
def test_each_head_of_a_gallery_program_has_its_line(name: str) -> None:
    model = handcraft.compile(GALLERY / f"{name}.rasp")
    lines = explain(model).splitlines()
    heads = sum(line.startswith("  head ") for line in lines)
    assert heads == sum(layer.n_head for layer in model.config.layers)
    assert heads > 0


@pytest.mark.parametrize(
    ("answer", "text"),
    [
        (3, "3"),
        (True, "True"),
        ("a", "a"),
        ("", '""'),
        ("a b", '"a b"'),
        ("\n", '"\\n"'),
        (("a", "b"), "a|b"),
    ],
)
def test_an_answer_is_shown_as_people_read_it(answer: object, text: str) -> None:
    assert shown(answer) == text


def test_a_count_fits_its_noun() -> None:
    assert [counted(n, "head") for n in (0, 1, 2)] == ["no heads", "1 head", "2 heads"]

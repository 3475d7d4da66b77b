"""What users see of a model: texts and batches in, tokens and values out."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from runtime_models import (
    handmade,
    number_model,
    random_model,
    random_weights,
    stock_config,
    table_model,
)

import handcraft.runtime.batches
from handcraft.errors import HandcraftError, InputError
from handcraft.runtime.config import Config
from handcraft.runtime.description import Description, Lattice, ResultKind
from handcraft.runtime.model import Model
from handcraft.runtime.vocabulary import vocabulary
from handcraft.runtime.weights import Weights

VALUES = table_model({"a": [9, 0, 0], "b": [0, 9, 0], "c": [0, 0, 9]}, (7, Fraction(1, 3), "x"))
HALVES = Lattice(Fraction(-1), Fraction(3), Fraction(1), 2)


def test_an_output_program_gives_its_values() -> None:
    assert VALUES.run("abca") == [7, Fraction(1, 3), "x", 7]


def test_whole_fractions_come_out_as_int_and_booleans_as_bool() -> None:
    model = table_model({"a": [9, 0], "b": [0, 9]}, (Fraction(4, 2), True))
    assert [type(value) for value in model.run("ab")] == [int, bool]


def test_the_nearest_listed_number_is_read() -> None:
    model = number_model((0, Fraction(1, 2), 3), {"a": 0.2, "b": 0.3, "c": 9.0, "d": -5.0})
    assert model.run("abc") == [0, Fraction(1, 2), 3]
    assert model.run("d") == [0]


def test_the_nearest_number_of_a_lattice_is_read() -> None:
    model = number_model(HALVES, {"a": 0.49, "b": 0.9, "c": -7.0, "d": 2.3})
    assert model.run("abc") == [Fraction(1, 2), 1, -1]
    assert model.run("d") == [Fraction(5, 2)]


def test_a_lattice_counts_parts_of_its_unit() -> None:
    thirds = Lattice(Fraction(0), Fraction(2), Fraction(1, 2), 3)
    assert thirds.nearest(0.34) == Fraction(1, 3)
    assert thirds.nearest(0.19) == Fraction(1, 6)
    assert thirds.nearest(2.2) == 2


def test_allow_gives_the_tokens_within_half_a_margin() -> None:
    table = {"a": [5.0, 4.9, 0.0], "b": [0.0, 3.0, 0.0], "c": [2.0, 2.0, 2.0]}
    model = table_model(table, description=Description("allow", margin=1.0))
    assert model.run("abc") == [("a", "b"), ("b",), ("a", "b", "c")]
    assert model.predict("c") == "a"
    assert model.probabilities("c") == {letter: pytest.approx(1 / 3) for letter in "abc"}


def test_run_leaves_out_start_token_and_bos_and_logits_only_the_first() -> None:
    table: dict[str, list[float]] = {
        "a": [0, 0, 1, 0],
        "b": [0, 1, 0, 0],
        "^": [1, 0, 0, 0],
        "": [0, 0, 0, 1],
    }
    model = table_model(table, description=Description("output"), bos="^", start=True, context=5)
    assert model.run("ab") == ["^", "b"]
    assert model.run("^ab") == ["^", "b"]
    assert model.run("") == []
    assert model.logits("ab").tolist() == [table["^"], table["a"], table["b"]]
    assert model.trace("ab").logits.shape == (4, 4)


def test_predict_programs_run_to_the_next_token_at_each_position() -> None:
    assert handmade().run("aabaa") == ["b", "b", "a", "a", "b"]


def test_encode_shows_what_the_transformer_sees_and_decode_gives_the_text() -> None:
    model = table_model({"a": [1, 0], "^": [0, 1], "": [0, 1]}, bos="^", start=True)
    assert model.encode("aa").tolist() == [2, 1, 0, 0]
    assert model.decode(model.encode("aa")) == "^aa"
    with pytest.raises(InputError, match="ids are from 0 to 2"):
        model.decode([3])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("ab", "b"),
        (["a", "b"], "b"),
        (("a", "a"), "a"),
        (["ab", "a"], ["b", "a"]),
        ([["a"], ["a", "b"]], ["a", "b"]),
        ([[], "b"], ["b", "b"]),
        (["ab"], ["b"]),
    ],
)
def test_a_list_is_one_text_if_every_item_is_a_token(text: Any, expected: Any) -> None:
    model = table_model({"a": [9, 0, 0], "b": [0, 9, 0], "": [0, 9, 0]}, start=True)
    assert model.predict(text) == expected


def test_lists_of_numbers_are_one_text_and_lists_of_strings_a_batch() -> None:
    config = Config(4, 3, 3, 3, (), tied=True)
    arrays = {"wte.weight": np.eye(3), "wpe.weight": np.zeros((4, 3))}
    model = Model(Weights(config, arrays), vocabulary("integers", range(3)), Description("predict"))
    assert model.predict([1, 2]) == 2
    assert model.predict(["1", "2"]) == 2
    assert model.predict(["1 2", "0"]) == [2, 0]
    assert model.complete("1 2", 2) == "2 2"
    with pytest.raises(InputError, match="`7` at position 1"):
        model.predict([1, 7])


def test_an_error_in_a_batch_names_the_text() -> None:
    with pytest.raises(InputError) as caught:
        handmade().run(["ab", "abc"])
    assert str(caught.value).startswith("<input 1>:1:3: unknown-token: `c` at position 2")


def test_a_batch_gives_what_its_texts_give_one_by_one() -> None:
    model = random_model(window_safe=True)
    texts = ["a", "abcdef", "hgi", "cabbaged"]
    assert model.predict(texts) == [model.predict(text) for text in texts]
    assert model.complete(texts, 8) == [model.complete(text, 8) for text in texts]
    assert model.run(texts[:3]) == [model.run(text) for text in texts[:3]]
    assert model.run_batch(texts[:3]) == model.run(texts[:3])
    batch = model.probabilities(texts)
    assert isinstance(batch, list)
    for shares, text in zip(batch, texts, strict=True):
        assert shares == pytest.approx(model.probabilities(text), rel=1e-12)


def test_a_large_batch_is_cut_into_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    model = random_model()
    texts = ["abc", "d", "efgha", "b"]
    expected = model.run_batch(texts)
    monkeypatch.setattr(handcraft.runtime.batches, "LARGEST_PASS", 1)
    assert model.run_batch(texts) == expected
    assert model.run_batch([]) == []


def test_probabilities_sum_to_one_and_are_those_of_the_last_position() -> None:
    model = random_model()
    shares = model.probabilities("abc")
    assert sum(shares.values()) == pytest.approx(1)
    logits = model.logits("abc")[-1]
    exact = np.exp(logits - logits.max())
    assert list(shares.values()) == pytest.approx(list(exact / exact.sum()))
    assert handmade().probabilities("aab") == {"a": 1.0, "b": 0.0}


def test_long_texts_are_read_from_their_end_by_predict_and_refused_by_run() -> None:
    model = random_model()
    assert model.predict("ihgabcdef") == model.predict("abcdef")
    for call in (model.run, model.trace, model.logits, model.encode):
        with pytest.raises(InputError) as caught:
            call("ihgabcdef")
        assert caught.value.code == "too-long"
        assert caught.value.message == "the text has 9 tokens, the context is 6"


def test_bos_counts_in_the_context_and_the_error_says_so() -> None:
    model = table_model({"a": [1, 0], "^": [0, 1]}, bos="^", context=2)
    assert model.run("a") == ["a"]
    with pytest.raises(InputError, match=r"the text has 3 tokens with `\^`, the context is 2"):
        model.run("aa")


@pytest.mark.parametrize("call", ["run", "trace", "logits", "predict", "complete"])
def test_an_empty_text_is_refused_without_a_start_token(call: str) -> None:
    with pytest.raises(InputError) as caught:
        getattr(handmade(), call)("")
    assert caught.value.code == "empty-text"


@pytest.mark.parametrize("call", ["complete", "predict", "probabilities"])
def test_an_output_program_names_run_where_it_cannot_predict(call: str) -> None:
    with pytest.raises(InputError) as caught:
        getattr(VALUES, call)("abc")
    assert caught.value.code == "no-continuation"
    assert caught.value.help == "use `run`"


def test_a_negative_seed_is_refused() -> None:
    with pytest.raises(InputError, match="a seed is a whole number from 0, not `-1`"):
        handmade().complete("a", temperature=1.0, seed=-1)


def test_every_text_of_a_batch_has_its_stop_reason() -> None:
    model = handmade(window_safe=False)
    assert model.stop_reason is None
    model.complete(["a", "aabaab"], 2)
    assert model.stop_reasons == ("length", "context")
    assert model.stop_reason == "context"


def test_a_negative_number_of_tokens_is_refused() -> None:
    with pytest.raises(InputError, match="cannot write -1 tokens"):
        handmade().complete("a", -1)


def test_a_model_shows_its_arrays_and_its_size() -> None:
    model = handmade()
    assert model.weights["h.0.attn.c_attn.weight"].shape == (8, 24)
    assert model.config.context == 5
    assert model.certificate is None
    assert repr(model) == "<Model model: 1 layers, d_model 8, 344 parameters, float64>"
    assert model.astype("float16").weights["wte.weight"].dtype.name == "float16"


@pytest.mark.parametrize(
    ("letters", "kind", "outputs", "message"),
    [
        ("abc", "predict", (), "3 tokens do not fit 9 rows of `wte.weight`"),
        ("abcdefghi", "output", (1, 2), "a readout of tokens has no list of values"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(
    letters: str, kind: ResultKind, outputs: tuple[int, ...], message: str
) -> None:
    with pytest.raises(HandcraftError) as caught:
        Model(
            random_weights(stock_config()),
            vocabulary("characters", letters),
            Description(kind, outputs),
        )
    assert caught.value.message == message


def test_a_readout_needs_outputs_of_its_kind() -> None:
    parts = (VALUES.parameters, VALUES.vocabulary)
    with pytest.raises(HandcraftError, match="one value for each of 3 logits"):
        Model(*parts, Description("output", (1, 2)))
    with pytest.raises(HandcraftError, match="one value for each of 3 logits"):
        Model(*parts, Description("output", HALVES))
    with pytest.raises(HandcraftError, match="`predict` reads tokens, not values"):
        Model(*parts, Description("predict", (1, 2, 3)))
    with pytest.raises(HandcraftError, match="at least one value, and only numbers"):
        number_model((1, "x"), {"a": 1.0})
    with pytest.raises(HandcraftError, match="at least one value, and only numbers"):
        number_model((), {"a": 1.0})
    with pytest.raises(HandcraftError, match="stand in ascending order"):
        number_model((3, 1), {"a": 1.0})


@pytest.mark.parametrize("margin", [-1.0, float("nan"), float("inf")])
def test_a_margin_is_a_number_from_0(margin: float) -> None:
    with pytest.raises(HandcraftError, match="a margin is not"):
        Description("predict", margin=margin)


def test_a_lattice_that_holds_no_number_is_refused() -> None:
    with pytest.raises(HandcraftError, match="no number fits"):
        Lattice(Fraction(2), Fraction(1), Fraction(1), 1)

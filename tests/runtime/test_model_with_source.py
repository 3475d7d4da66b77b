"""A model that reads a source, as its users see it: a translator made by hand."""

from __future__ import annotations

import json
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from runtime_models import handmade
from source_models import SEQUENCES, WORDS, random_source_weights, translator

import handcraft
import handcraft.runtime.batches
from handcraft.errors import FileError, HandcraftError, InputError
from handcraft.runtime.description import Description
from handcraft.runtime.json_node import SPARED
from handcraft.runtime.manifest import Manifest, read_manifest, write_manifest
from handcraft.runtime.model import Model
from handcraft.runtime.vocabulary import vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_hello_world_is_translated_word_by_word_with_the_same_weights() -> None:
    model = translator()
    assert model.predict("hello world") == "hola"
    assert model.predict("hello world", "hola") == "mundo"
    assert model.predict("hello world", "SOS hola mundo") == "EOS"
    assert model.complete("hello world") == "hola mundo"
    assert model.stop_reason == "eos"
    assert model.generations[0].steps == 3


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_every_source_up_to_the_context_is_right_at_every_step(dtype: str) -> None:
    model = translator(dtype)
    sources = [list(words) for n in range(6) for words in product(WORDS, repeat=n)]
    targets = [[WORDS[word] for word in source] for source in sources]
    assert len(sources) == 1365
    said = model.run_batch(sources, targets)
    first = model.predict(sources, "")
    assert isinstance(first, list)
    for one, answers, target in zip(first, said, targets, strict=True):
        assert [one, *answers] == [*target, "EOS"]


def test_an_empty_source_is_translated_to_nothing() -> None:
    model = translator()
    assert model.complete("") == ""
    assert model.stop_reason == "eos"
    assert model.generations[0].steps == 1
    assert model.run("") == []


def test_a_batch_of_sources_gives_a_list() -> None:
    model = translator()
    assert model.complete(["hello world", "", "how ?"]) == ["hola mundo", "", "cómo ?"]
    assert model.stop_reasons == ("eos", "eos", "eos")
    assert model.predict(["hello world", "how ?"], "hola") == ["mundo", "?"]
    assert model.predict(["hello world", "how ?"], ["", "cómo"]) == ["hola", "?"]
    assert model.run([["hello"], ["how", "?"]], [[], ["hola"]]) == [[], ["?"]]
    assert model.complete(["hello", "world"]) == "hola mundo"


def test_batches_are_cut_without_changing_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    model = translator()
    sources = ["hello", "how ? hello", "", "world world"]
    whole = model.probabilities(sources)
    monkeypatch.setattr(handcraft.runtime.batches, "LARGEST_PASS", 1)
    assert model.probabilities(sources) == whole


def test_writing_stops_at_the_length_asked_for_and_at_the_context() -> None:
    assert translator().complete("hello world", 1) == "hola"
    model = translator()
    model.complete("hello world how", 2)
    assert (model.stop_reason, model.generations[0].steps) == ("length", 2)
    short = translator(context=3)
    assert short.complete("hello world how ?") == "hola mundo cómo"
    assert short.stop_reason == "context"


def test_trace_logits_and_ids_are_those_of_source_and_target() -> None:
    model = translator()
    assert model.encode_source("hello ?").tolist() == [4, 0, 3]
    assert model.encode("hola").tolist() == [4, 0]
    trace = model.trace("hello ?", "hola")
    assert trace["cross_pattern.0"].tolist() == [[[0, 1, 0], [0, 0, 1]]]
    assert model.logits("hello ?", "hola").argmax(axis=-1).tolist() == [0, 3]
    assert np.array_equal(model.trace("hello ?").logits, model.logits("hello ?"))


def test_a_target_without_bos_needs_a_token_of_its_own() -> None:
    weights = random_source_weights()
    model = Model(
        weights, vocabulary("characters", "abcdefghi"), SEQUENCES, vocabulary("integers", range(8))
    )
    assert len(model.run("0 7", "abc")) == 3
    with pytest.raises(InputError, match="the text is empty"):
        model.predict("0 7")


@pytest.mark.parametrize(
    ("call", "code", "told"),
    [
        (lambda m: m.complete("hello wrld"), "unknown-token", "`wrld` at position 1"),
        (lambda m: m.predict("hello", "hello"), "unknown-token", "`hello` at position 0"),
        (
            lambda m: m.complete("? ? ? ? ? ?"),
            "too-long",
            "the source has 6 tokens, its context is 5",
        ),
        (
            lambda m: m.predict("?", "? ? ? ? ? ?"),
            "too-long",
            "the text has 7 tokens with `SOS`, the context is 6",
        ),
        (lambda m: m.complete("?", slide=True), "bad-slide", "never slides"),
        (
            lambda m: m.predict(["? ?", "hello world"], ["?"]),
            "bad-target",
            "2 sources cannot be paired with 1 targets",
        ),
        (
            lambda m: m.run(["? ?", "hello world"], 3),
            "bad-target",
            "2 sources cannot be paired with `3`",
        ),
        (lambda m: m.predict("?", 3), "bad-text", "found `int`"),
        (lambda m: handmade().predict("a", "b"), "bad-target", "only a model that reads a source"),
        (lambda m: handmade().encode_source("a"), "no-source", "this model has no encoder"),
    ],
)
def test_what_cannot_be_read_is_told(call: Callable[[Any], object], code: str, told: str) -> None:
    with pytest.raises(InputError) as caught:
        call(translator())
    assert caught.value.code == code
    assert told in caught.value.message


def test_an_unknown_word_is_located_with_the_nearest_known_one() -> None:
    with pytest.raises(InputError) as caught:
        translator().complete("hello wrld")
    assert str(caught.value).splitlines() == [
        "<input>:1:7: unknown-token: `wrld` at position 1 is not in the vocabulary",
        "1 | hello wrld",
        "          ^^^^",
        "help: write `world`",
    ]
    with pytest.raises(InputError, match=r"<target>:1:1: unknown-token: `hole`"):
        translator().predict("hello", "hole")


def test_parts_that_do_not_fit_together_are_refused() -> None:
    model = translator()
    assert model.source_vocabulary is not None

    def told(description: Description, source: Any) -> str:
        with pytest.raises(HandcraftError) as caught:
            Model(model.parameters, model.vocabulary, description, source)
        assert caught.value.code == "bad-model"
        return caught.value.message

    five = vocabulary("characters", "abcde")
    marked = vocabulary("words", ["a", "b", "c"], eos=".")
    plain = Description("predict")
    assert told(plain, model.source_vocabulary) == "the sequences are source, tokens, not tokens"
    assert told(SEQUENCES, None) == "an encoder needs a source vocabulary"
    assert told(SEQUENCES, five) == "6 tokens of the source do not fit 5 rows"
    assert told(SEQUENCES, marked).startswith("`bos` and `eos` belong to the text that is written")
    one = handmade()
    with pytest.raises(HandcraftError, match="a source vocabulary needs an encoder to read it"):
        Model(one.parameters, one.vocabulary, one.description, five)


# Files ---------------------------------------------------------------------------------------


def test_a_loaded_model_translates_and_is_the_same_file_again(tmp_path: Path) -> None:
    model = translator()
    model.save(tmp_path / "first.npz")
    loaded = handcraft.load(tmp_path / "first.npz")
    loaded.save(tmp_path / "second.npz")
    assert (tmp_path / "first.npz").read_bytes() == (tmp_path / "second.npz").read_bytes()
    assert loaded.complete("how ?") == "cómo ?"
    assert loaded.config == model.config
    assert loaded.description == model.description
    assert loaded.source_vocabulary == model.source_vocabulary
    assert loaded.astype("float64").complete("how ?") == "cómo ?"


def test_a_file_has_the_sequences_by_name_and_the_arrays_of_the_encoder(tmp_path: Path) -> None:
    translator().save(tmp_path / "model.npz")
    with np.load(tmp_path / "model.npz", allow_pickle=False) as file:
        names = set(file.files)
        manifest = json.loads(str(file["handcraft.json"]))
    assert manifest["sequences"] == ["source", "tokens"]
    assert manifest["source_vocabulary"]["tokens"] == list(WORDS)
    assert manifest["config"]["encoder"]["start"] is True
    assert manifest["operations"][1]["across"] is True
    assert names == {
        *("wte.weight", "wpe.weight", "lm_head.weight", "handcraft.json"),
        *("encoder.wte.weight", "encoder.wpe.weight"),
        *(
            f"h.0.crossattention.{part}.{kind}"
            for part in ("q_attn", "c_attn", "c_proj")
            for kind in ("weight", "bias")
        ),
    }


def test_the_file_of_a_model_without_source_says_nothing_of_sources() -> None:
    model = handmade()
    text = write_manifest(Manifest(model.config, model.vocabulary, model.description))
    assert not [name for name in SPARED if f'"{name}"' in text]


def _inside(text: str, **changes: Any) -> str:
    manifest = json.loads(text)
    for path, value in changes.items():
        *folders, name = path.split("__")
        place = manifest
        for folder in folders:
            place = place[int(folder) if folder.isdigit() else folder]
        place[name] = value
    return json.dumps(manifest)


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"sequences": ["source", "words"]}, "`sequences[1]` of its JSON is `'words'`"),
        ({"source_vocabulary": 3}, "`source_vocabulary` of its JSON is `3`, not an object"),
        ({"config__encoder": []}, "`config.encoder` of its JSON is `[]`, not an object"),
        ({"config__encoder__encoder": {}}, "not an encoder without one of its own"),
        ({"config__layers__0__n_cross": True}, "`config.layers[0].n_cross` of its JSON is `True`"),
        ({"config__layers__0__n_cross": 0}, "layer 0 has 0 cross heads of width 6"),
        ({"config__encoder__attention": "causal"}, "an encoder reads in both directions"),
        ({"operations__0__across": 1}, "`operations[0].across` of its JSON is `1`"),
        ({"residual__0__sequence": "target"}, "not one of source, tokens"),
        ({"residual__0__across": False}, "`residual[0].across` is unknown in its JSON"),
    ],
)
def test_a_manifest_that_tells_of_no_real_source_is_refused(
    changes: dict[str, Any], told: str
) -> None:
    model = translator()
    text = write_manifest(
        Manifest(model.config, model.vocabulary, model.description, model.source_vocabulary)
    )
    assert read_manifest(text).source_vocabulary == model.source_vocabulary
    with pytest.raises(HandcraftError) as caught:
        read_manifest(_inside(text, **changes))
    assert told in caught.value.message


def test_a_file_whose_source_vocabulary_is_gone_is_refused(tmp_path: Path) -> None:
    model = translator()
    model.source_vocabulary = None
    model.save(tmp_path / "model.npz")
    with pytest.raises(FileError, match="an encoder needs a source vocabulary"):
        handcraft.load(tmp_path / "model.npz")

"""`handcraft.export`: folders that stock software loads, and that are whole or not there."""

from __future__ import annotations

import contextlib
import errno
import io
import json
import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest
from program_files import EVERY, GALLERY

import handcraft
from handcraft.cli.commands import handcraft as command
from handcraft.errors import FileError, HandcraftError, ProgramError
from handcraft.exporting.export import export
from handcraft.runtime.model import Model
from handcraft.runtime.weights import Weights

if TYPE_CHECKING:
    from handcraft.compiler.stock.stock import LayerNorm
    from handcraft.exporting.export import Target

transformers = pytest.importorskip("transformers")
torch = pytest.importorskip("torch")
pytest.importorskip("safetensors")
pytest.importorskip("onnx")

CAUSAL = [path for path in EVERY if handcraft.parse(path).causal]
STOCK = [path for path in CAUSAL if "\nsource " not in path.read_text(encoding="utf-8")]
TARGETS: tuple[Target, ...] = (
    *("gpt2", "transformer-lens", "gguf"),
    *("onnx", "safetensors", "torch"),
)


def aab(**options: object) -> Model:
    return handcraft.compile(handcraft.parse(GALLERY / "aab.rasp", **options))  # type: ignore[arg-type]


def test_the_pipeline_continues_a_text(tmp_path: Path) -> None:
    export(aab(context=16), tmp_path / "aab", to="gpt2")
    generate = transformers.pipeline("text-generation", str(tmp_path / "aab"))
    (greedy,) = generate("a", do_sample=False, max_new_tokens=10)
    assert greedy["generated_text"] == "a" + "baabaabaab"
    (drawn,) = generate("a", max_new_tokens=10)
    assert drawn["generated_text"] == "a" + "baabaabaab"
    config = json.loads((tmp_path / "aab" / "generation_config.json").read_text())
    assert config["max_length"] == 16
    assert len(generate("a", do_sample=False)[0]["generated_text"]) >= 16


def lines_of(card: Path) -> list[str]:
    """Return the pieces of Python in a card."""
    return re.findall(r"```python\n(.*?)```", card.read_text(encoding="utf-8"), re.DOTALL)


def printed(code: str) -> str:
    """Return what lines of a card print."""
    told = io.StringIO()
    with contextlib.redirect_stdout(told):
        exec(compile(code, "<card>", "exec"), {})
    return told.getvalue().removesuffix("\n")


def test_the_lines_of_the_card_slide_the_window(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(aab(context=5), tmp_path / "aab", to="gpt2")
    monkeypatch.chdir(tmp_path / "aab")
    first, sliding = lines_of(Path("README.md"))
    assert printed(first) == "abaab"
    assert printed(sliding) == "a" + "baabaabaab"


@pytest.mark.parametrize("path", STOCK, ids=lambda path: path.stem)
def test_the_lines_of_every_card_say_what_the_program_says(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = handcraft.parse(path)
    model = handcraft.compile(program)
    export(model, tmp_path / "it", to="gpt2")
    monkeypatch.chdir(tmp_path / "it")
    card = Path("README.md").read_text(encoding="utf-8")
    assert program.source.text.rstrip() in card
    pieces = lines_of(Path("README.md"))
    assert pieces
    for piece in pieces:
        (prompt,) = set(re.findall(r"(?:generate|tokenizer)\('(.*?)'[,)]", piece))
        said = printed(piece)
        if model.description.kind == "output":
            assert said == repr([f"= {_shown(value)}" for value in model.run(prompt)])
        else:
            tokens = model.vocabulary.split(said)
            written = model.vocabulary.split(prompt)
            assert tokens[: len(written)] == written
            for i in range(len(written), len(tokens)):
                allowed = model.run([*tokens[:i]][-model.config.context :])[-1]
                assert tokens[i] in (allowed if isinstance(allowed, tuple) else (allowed,))


def test_the_card_for_transformer_lens_shows_every_head(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("transformer_lens")
    model = handcraft.compile(handcraft.parse(GALLERY / "induction.rasp"))
    export(model, tmp_path / "it", to="transformer-lens")
    monkeypatch.chdir(tmp_path / "it")
    said = printed(lines_of(Path("README.md"))[-1])
    heads = [each for each in model.description.operations if each.kind == "head"]
    assert len(heads) == 2
    assert all(head.text in said for head in heads)


def _shown(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return json.dumps(value)
        case _:
            return str(value)


@pytest.mark.parametrize("path", EVERY, ids=lambda path: path.stem)
def test_what_is_exported_is_read_back(path: Path, tmp_path: Path) -> None:
    model = handcraft.compile(handcraft.parse(path))
    export(model, tmp_path / "own", to="safetensors")
    own = handcraft.load(tmp_path / "own")
    assert own.parameters.equals(model.parameters)
    assert own.description == model.description
    assert own.vocabulary == model.vocabulary
    if path not in STOCK:
        return
    export(model, tmp_path / "stock", to="gpt2")
    stock = handcraft.load(tmp_path / "stock")
    assert stock.config.layer_norm
    chance = np.random.default_rng(0)
    tokens = [t for t in model.vocabulary.tokens if t != model.vocabulary.bos]
    room = model.config.context - (model.vocabulary.bos is not None)
    texts = [
        [tokens[i] for i in chance.integers(len(tokens), size=chance.integers(1, room + 1))]
        for _ in range(50)
    ]
    program = handcraft.parse(path)
    meant = [text for text in texts if _has_meaning(program, text)]
    for text in meant:
        assert stock.run(text) == model.run(text)


def _has_meaning(program: handcraft.Program, text: list[str | int]) -> bool:
    if not program.meaning(text).in_scope:
        return False
    try:
        program.run(text)
    except HandcraftError:
        return False
    return True


@pytest.mark.parametrize("to", TARGETS)
def test_the_same_model_gives_the_same_bytes(to: Target, tmp_path: Path) -> None:
    for name in ("one", "two"):
        export(aab(), tmp_path / name, to=to)
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name


@pytest.mark.parametrize(
    ("to", "library"),
    [
        ("gpt2", "safetensors.numpy"),
        ("transformer-lens", "safetensors.numpy"),
        ("onnx", "onnx"),
        ("safetensors", "safetensors.numpy"),
        ("torch", "torch"),
    ],
)
def test_a_missing_library_is_told_in_one_sentence(
    to: Target, library: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(HandcraftError, match="it comes with the extra `export`") as caught:
        export(aab(), tmp_path / "aab", to=to)
    assert caught.value.code == "missing-extra"
    assert caught.value.help == "pip install 'handcraft[export]'"
    assert not [*tmp_path.iterdir()]


def test_reading_back_without_the_library_names_the_extra(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(aab(), tmp_path / "aab", to="gpt2")
    monkeypatch.setitem(sys.modules, "safetensors.numpy", None)
    with pytest.raises(HandcraftError, match="extra `export`"):
        handcraft.load(tmp_path / "aab")


@pytest.mark.parametrize("failure", [OSError(errno.ENOSPC, "No space left"), KeyboardInterrupt()])
@pytest.mark.parametrize("n_written", [0, 1, 4])
def test_what_cannot_be_finished_leaves_nothing(
    failure: BaseException, n_written: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    export(aab(context=7), tmp_path / "before", to="gpt2")
    before = (tmp_path / "before" / "model.safetensors").read_bytes()
    write, written = Path.write_bytes, [0]

    def failing(path: Path, data: bytes) -> int:
        written[0] += 1
        if written[0] > n_written:
            write(path, data[:10])
            raise failure
        return write(path, data)

    for name in ("new", "before"):
        written[0] = 0
        monkeypatch.setattr(Path, "write_bytes", failing)
        expected = FileError if isinstance(failure, OSError) else KeyboardInterrupt
        with pytest.raises(expected):
            export(aab(), tmp_path / name, to="gpt2")
        monkeypatch.undo()
    assert [path.name for path in tmp_path.iterdir()] == ["before"]
    assert (tmp_path / "before" / "model.safetensors").read_bytes() == before


def test_an_earlier_export_is_replaced_and_nothing_else_is(tmp_path: Path) -> None:
    export(aab(), tmp_path / "aab", to="onnx")
    export(aab(), tmp_path / "aab", to="gpt2")
    assert not (tmp_path / "aab" / "model.onnx").exists()
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("all of it")
    with pytest.raises(FileError, match="something else in it"):
        export(aab(), tmp_path / "mine", to="gpt2")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == "all of it"
    (tmp_path / "file").write_text("a file")
    with pytest.raises(FileError, match="is no folder"):
        export(aab(), tmp_path / "file", to="gpt2")


def test_one_file_needs_no_folder(tmp_path: Path) -> None:
    export(aab(), tmp_path / "aab.onnx", to="onnx")
    export(aab(), tmp_path / "aab.gguf", to="gguf")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["aab.gguf", "aab.onnx"]
    assert (tmp_path / "aab.gguf").read_bytes()[:4] == b"GGUF"


@pytest.mark.parametrize("name", ["hist", "translate"])
def test_what_no_gpt2_can_hold_is_refused_with_the_formats_that_can(
    name: str, tmp_path: Path
) -> None:
    model = handcraft.compile(handcraft.parse(GALLERY / f"{name}.rasp"))
    with pytest.raises(HandcraftError, match="this model is no GPT-2") as caught:
        export(model, tmp_path / "it", to="gpt2")
    assert caught.value.code == "not-stock"
    assert caught.value.help == "export it to onnx, torch or safetensors, which hold every model"
    for to in ("onnx", "torch", "safetensors"):
        export(model, tmp_path / to, to=to)


def test_a_number_that_needs_its_own_readout_is_refused(tmp_path: Path) -> None:
    model = handcraft.compile(handcraft.parse(GALLERY / "frac_prevs.rasp", context=64))
    assert model.config.readout == "number"
    with pytest.raises(HandcraftError, match="it reads its values as one number"):
        export(model, tmp_path / "it", to="gpt2")


def test_half_precision_has_no_room_for_the_epsilon(tmp_path: Path) -> None:
    model = handcraft.compile(handcraft.parse(GALLERY / "aab.rasp"), dtype="float16")
    with pytest.raises(ProgramError, match="not proved in float16") as caught:
        export(model, tmp_path / "it", to="gpt2")
    assert "`pair` as layer norm" in str(caught.value.help)


def test_double_precision_is_loaded_in_double_precision(tmp_path: Path) -> None:
    model = handcraft.compile(handcraft.parse(GALLERY / "hist_so_far.rasp"), dtype="float64")
    certificate = export(model, tmp_path / "it", to="gpt2")
    assert certificate is not None
    verdict = certificate.verdict("float64")
    assert verdict is not None
    hf = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "it")
    assert hf.dtype == torch.float64
    said = hf(torch.from_numpy(model.encode("hello")[None])).logits[0, 1:].detach().numpy()
    off = np.abs(said[:, model.config.n_vocab :] - model.logits("hello")).max()
    own = model.certificate
    assert own is not None
    mine = own.verdict("float64")
    assert mine is not None
    assert off <= verdict.error + mine.error


def test_edited_weights_are_not_called_proved(tmp_path: Path) -> None:
    model = aab()
    arrays = {name: array.copy() for name, array in model.weights.items()}
    arrays["h.0.attn.c_proj.weight"][0, 0] += 1
    edited = Model(Weights(model.config, arrays), model.vocabulary, model.description)
    with pytest.raises(HandcraftError, match="not those that its program compiles to"):
        export(edited, tmp_path / "it", to="gpt2")
    assert export(edited, tmp_path / "it", to="safetensors") is None
    assert handcraft.load(tmp_path / "it").parameters.equals(edited.parameters)
    assert handcraft.load(tmp_path / "it").certificate is None
    assert "Nothing: these weights are not those" in (tmp_path / "it" / "README.md").read_text()


def test_an_edited_stock_model_is_not_called_proved(tmp_path: Path) -> None:
    export(aab(), tmp_path / "it", to="gpt2")
    model = handcraft.load(tmp_path / "it")
    arrays = {name: array.copy() for name, array in model.weights.items()}
    arrays["wte.weight"][0] *= 2
    edited = Model(Weights(model.config, arrays), model.vocabulary, model.description)
    with pytest.raises(HandcraftError, match="not those that its program compiles to"):
        export(edited, tmp_path / "it", to="gpt2")
    unknown = Model(model.parameters, model.vocabulary, replace(model.description, recipe=None))
    with pytest.raises(HandcraftError, match="does not carry its program"):
        export(unknown, tmp_path / "it", to="gpt2")


@pytest.mark.parametrize("layer_norm", ["epsilon", "pair"])
@pytest.mark.parametrize("name", ["aab", "prefix_length", "heading"])
def test_a_stock_model_is_exported_again_as_it_is(
    name: str, layer_norm: LayerNorm, tmp_path: Path
) -> None:
    model = handcraft.compile(handcraft.parse(GALLERY / f"{name}.rasp"))
    export(model, tmp_path / "one", to="gpt2", layer_norm=layer_norm)
    export(handcraft.load(tmp_path / "one"), tmp_path / "two", to="gpt2")
    for path in (tmp_path / "one").iterdir():
        assert path.read_bytes() == (tmp_path / "two" / path.name).read_bytes(), path.name
    with pytest.raises(HandcraftError, match="keeps its form"):
        export(handcraft.load(tmp_path / "one"), tmp_path / "two", to="gpt2", layer_norm="pair")


@pytest.mark.parametrize("activation", ["gelu_new", "gelu", "relu"])
@pytest.mark.parametrize("layer_norm", ["epsilon", "pair"])
def test_every_form_says_the_same_in_stock_software(
    layer_norm: str, activation: str, tmp_path: Path
) -> None:
    model = handcraft.compile(handcraft.parse(GALLERY / "heading.rasp"))
    export(
        model,
        tmp_path / "it",
        to="gpt2",
        layer_norm=layer_norm,  # type: ignore[arg-type]
        activation=activation,  # type: ignore[arg-type]
    )
    hf = transformers.AutoModelForCausalLM.from_pretrained(tmp_path / "it")
    assert hf.config.activation_function == activation
    assert hf.config.layer_norm_epsilon == (2.0**40 if layer_norm == "epsilon" else 1e-5)
    chance = np.random.default_rng(0)
    ids = chance.integers(len(model.vocabulary), size=(200, model.config.context))
    said = hf(torch.from_numpy(ids)).logits.argmax(-1).numpy() - model.config.n_vocab
    for row, text in zip(said, ids, strict=True):
        values = model.run([model.vocabulary.tokens[i] for i in text])
        assert [model.description.outputs[i] for i in row] == values  # type: ignore[index]


def test_misuse_of_options_is_refused(tmp_path: Path) -> None:
    for options in (
        {"to": "keras"},
        {"to": "onnx", "layer_norm": "pair"},
        {"to": "gpt2", "patterns": True},
        {"to": "gpt2", "layer_norm": "rms"},
        {"to": "gpt2", "activation": "tanh"},
    ):
        with pytest.raises(HandcraftError) as caught:
            export(aab(), tmp_path / "it", **options)
        assert caught.value.code == "bad-option"
    with pytest.raises(HandcraftError, match="named like a file of gguf"):
        export(aab(), tmp_path / "it.gguf", to="onnx")
    assert not [*tmp_path.iterdir()]


def test_the_command_writes_what_it_tells(tmp_path: Path) -> None:
    from click.testing import CliRunner

    run = CliRunner().invoke
    target = (tmp_path / "aab").as_posix()
    told = run(command, ["export", "aab", "--to", "gpt2", "-o", target, "--context", "16"])
    assert told.exit_code == 0, told.output
    assert f"{target}/model.safetensors" in told.output
    assert "certificate  proved in float64, float32" in told.output
    again = run(command, ["complete", target, "aab"])
    assert again.output == "aab :: aabaabaaba\n"
    refused = run(command, ["export", "hist", "--to", "gpt2", "-o", target + "2"])
    assert refused.exit_code == 1
    assert "not-stock: " in refused.output
    assert run(command, ["export", "aab", "--to", "tf", "-o", target]).exit_code == 2

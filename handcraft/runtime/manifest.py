"""The JSON text of a model file: config, vocabulary and description, written and read strictly.

Reading trusts nothing: every member must be there, of its type, and no other may be. What does
not fit raises `HandcraftError` with the path to it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import cast, get_args

from handcraft.errors import HandcraftError
from handcraft.runtime.certificate import Certificate, HeadBound, Threshold, Verdict
from handcraft.runtime.config import (
    Activation,
    Attention,
    Config,
    LayerConfig,
    NormPlace,
    Readout,
)
from handcraft.runtime.description import (
    Description,
    FoldedLine,
    Lattice,
    Operation,
    OperationKind,
    ResidualVariable,
    ResultKind,
    SequenceName,
    Value,
)
from handcraft.runtime.guide import Guide
from handcraft.runtime.json_node import Node, read_json, spare
from handcraft.runtime.recipe import Gap, LoadedText, Mode, Origin, ProgramText, Recipe
from handcraft.runtime.vocabulary import Kind, Token, Vocabulary

FORMAT = 1
"""The number of the file format; a reader refuses larger ones."""


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a file says beside its arrays; a source vocabulary only where there is an encoder."""

    config: Config
    vocabulary: Vocabulary
    description: Description
    source_vocabulary: Vocabulary | None = None


def write_manifest(manifest: Manifest) -> str:
    """Return the manifest as sorted JSON in ASCII: the same manifest, the same text."""
    description, source = manifest.description, manifest.source_vocabulary
    members = {
        "format": FORMAT,
        "config": spare(asdict(manifest.config)),
        "vocabulary": _vocabulary_text(manifest.vocabulary),
        "kind": description.kind,
        "outputs": _outputs_text(description.outputs),
        "margin": description.margin,
        "window_safe": description.window_safe,
        "residual": [spare(asdict(variable)) for variable in description.residual],
        "operations": [spare(asdict(operation)) for operation in description.operations],
        "folded": [asdict(line) for line in description.folded],
        "provenance": dict(description.provenance),
        "certificate": None
        if description.certificate is None
        else spare(asdict(description.certificate)),
        "formats": description.formats,
        "sequences": description.sequences,
        "guide": None if description.guide is None else asdict(description.guide),
    }
    if source is not None:
        members["source_vocabulary"] = _vocabulary_text(source)
    if description.recipe is not None:
        members["recipe"] = asdict(description.recipe)
    return json.dumps(members, sort_keys=True, separators=(",", ":"), allow_nan=False)


def read_manifest(text: str) -> Manifest:
    """Return the manifest that `write_manifest` has written.

    Raises:
        HandcraftError: `bad-manifest`, or what the records themselves refuse.
    """
    root = read_json(text)
    _check_format(root)
    members = root.members(
        "format config vocabulary kind outputs margin window_safe residual operations folded"
        " provenance certificate formats sequences guide",
        spared="source_vocabulary recipe",
    )
    certificate, recipe = members["certificate"], members["recipe"]
    description = Description(
        kind=members["kind"].one_of(cast("tuple[ResultKind, ...]", get_args(ResultKind))),
        outputs=_outputs(members["outputs"]),
        margin=members["margin"].number(),
        window_safe=members["window_safe"].flag(),
        residual=tuple(map(_variable, members["residual"].items())),
        operations=tuple(map(_operation, members["operations"].items())),
        folded=tuple(map(_folded, members["folded"].items())),
        provenance={name: node.text() for name, node in members["provenance"].named().items()},
        certificate=None if certificate.value is None else _certificate(certificate),
        formats=tuple(node.text() for node in members["formats"].items()),
        sequences=tuple(map(_sequence, members["sequences"].items())),
        guide=None if members["guide"].value is None else _guide(members["guide"]),
        recipe=None if recipe.value is None else _recipe(recipe),
    )
    source = members["source_vocabulary"]
    return Manifest(
        _config(members["config"]),
        _vocabulary(members["vocabulary"]),
        description,
        None if source.value is None else _vocabulary(source),
    )


def _check_format(root: Node) -> None:
    found = root.mapping().get("format")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise HandcraftError("bad-manifest", "it has no format number")
    if found > FORMAT:
        raise HandcraftError(
            "newer-format",
            f"it was made by a newer version (format {found}, this version reads {FORMAT})",
            help="install a newer version of handcraft",
        )


def _config(node: Node) -> Config:
    members = node.members(
        "n_ctx n_vocab d_model n_out layers attention activation layer_norm"
        " layer_norm_epsilon tied start readout",
        spared="norm_place encoder",
    )
    encoder = members["encoder"]
    return Config(
        n_ctx=members["n_ctx"].integer(),
        n_vocab=members["n_vocab"].integer(),
        d_model=members["d_model"].integer(),
        n_out=members["n_out"].integer(),
        layers=tuple(map(_layer, members["layers"].items())),
        attention=members["attention"].one_of(cast("tuple[Attention, ...]", get_args(Attention))),
        activation=members["activation"].one_of(
            cast("tuple[Activation, ...]", get_args(Activation))
        ),
        layer_norm=members["layer_norm"].flag(),
        layer_norm_epsilon=members["layer_norm_epsilon"].number(),
        tied=members["tied"].flag(),
        start=members["start"].flag(),
        readout=members["readout"].one_of(cast("tuple[Readout, ...]", get_args(Readout))),
        norm_place=members["norm_place"].one_of(cast("tuple[NormPlace, ...]", get_args(NormPlace))),
        encoder=None if encoder.value is None else _encoder(encoder),
    )


def _encoder(node: Node) -> Config:
    if "encoder" in node.mapping():
        node.refuse("an encoder without one of its own")
    return _config(node)


def _layer(node: Node) -> LayerConfig:
    members = node.members("n_head d_head d_mlp", spared="n_cross d_cross")
    return LayerConfig(**{name: size.integer() for name, size in members.items()})


def _vocabulary(node: Node) -> Vocabulary:
    members = node.members("kind tokens bos eos")
    return Vocabulary(
        members["kind"].one_of(cast("tuple[Kind, ...]", get_args(Kind))),
        tuple(map(_token, members["tokens"].items())),
        _token_or_none(members["bos"]),
        _token_or_none(members["eos"]),
    )


def _token(node: Node) -> Token:
    return node.value if isinstance(node.value, str) else node.integer()


def _token_or_none(node: Node) -> Token | None:
    return None if node.value is None else _token(node)


def _variable(node: Node) -> ResidualVariable:
    members = node.members("name first_direction labels meaning line layers", spared="sequence")
    layers = members["layers"]
    return ResidualVariable(
        members["name"].text(),
        members["first_direction"].integer(),
        tuple(label.text() for label in members["labels"].items()),
        members["meaning"].text(),
        _integer_or_none(members["line"]),
        None if layers.value is None else _pair(layers, "a first and a last layer"),
        _sequence(members["sequence"]),
    )


def _certificate(node: Node) -> Certificate:
    members = node.members("verdicts heads thresholds")
    return Certificate(
        tuple(map(_verdict, members["verdicts"].items())),
        tuple(map(_head_bound, members["heads"].items())),
        tuple(map(_threshold, members["thresholds"].items())),
    )


def _verdict(node: Node) -> Verdict:
    members = node.members("format proved error margin reason spent")
    return Verdict(
        members["format"].text(),
        members["proved"].flag(),
        members["error"].number(),
        members["margin"].number(),
        members["reason"].text(),
        members["spent"].number(),
    )


def _head_bound(node: Node) -> HeadBound:
    members = node.members("name layer index gap leaks", spared="sequence across")
    return HeadBound(
        members["name"].text(),
        members["layer"].integer(),
        members["index"].integer(),
        members["gap"].number(),
        tuple(leak.number() for leak in members["leaks"].items()),
        _sequence(members["sequence"]),
        members["across"].flag(),
    )


def _threshold(node: Node) -> Threshold:
    members = node.members("name layer index margins", spared="sequence")
    return Threshold(
        members["name"].text(),
        members["layer"].integer(),
        members["index"].integer(),
        tuple(margin.number() for margin in members["margins"].items()),
        _sequence(members["sequence"]),
    )


def _operation(node: Node) -> Operation:
    members = node.members("layer kind index text line last others", spared="sequence across")
    return Operation(
        members["layer"].integer(),
        members["kind"].one_of(cast("tuple[OperationKind, ...]", get_args(OperationKind))),
        members["index"].integer(),
        members["text"].text(),
        _integer_or_none(members["line"]),
        _integer_or_none(members["last"]),
        tuple(line.integer() for line in members["others"].items()),
        _sequence(members["sequence"]),
        members["across"].flag(),
    )


def _sequence(node: Node) -> SequenceName:
    return node.one_of(cast("tuple[SequenceName, ...]", get_args(SequenceName)))


def _folded(node: Node) -> FoldedLine:
    members = node.members("line text")
    return FoldedLine(members["line"].integer(), members["text"].text())


def _guide(node: Node) -> Guide:
    members = node.members("symbols rows words")
    return Guide(
        tuple(map(_token, members["symbols"].items())),
        tuple(tuple(map(_integer_or_none, row.items())) for row in members["rows"].items()),
        tuple(state.integer() for state in members["words"].items()),
    )


def _recipe(node: Node) -> Recipe:
    members = node.members("origin optimize formats gap scale allow_unproved")
    gap = members["gap"]
    return Recipe(
        _origin(members["origin"]),
        members["optimize"].integer(),
        tuple(node.text() for node in members["formats"].items()),
        None if gap.value is None else gap.one_of(cast("tuple[Gap, ...]", get_args(Gap))),
        _integer_or_none(members["scale"]),
        members["allow_unproved"].flag(),
    )


def _origin(node: Node) -> Origin:
    members = node.members("texts loads vocab context attention output")
    mode, output = members["attention"], members["output"]
    return Origin(
        tuple(map(_program_text, members["texts"].items())),
        tuple(map(_loaded_text, members["loads"].items())),
        _given_vocabulary(members["vocab"]),
        _integer_or_none(members["context"]),
        None if mode.value is None else mode.one_of(cast("tuple[Mode, ...]", get_args(Mode))),
        None if output.value is None else output.text(),
    )


def _program_text(node: Node) -> ProgramText:
    members = node.members("name text")
    return ProgramText(members["name"].text(), members["text"].text())


def _loaded_text(node: Node) -> LoadedText:
    members = node.members("within path text")
    return LoadedText(
        members["within"].integer(), members["path"].text(), members["text"].integer()
    )


def _given_vocabulary(node: Node) -> str | tuple[Token, ...] | None:
    if isinstance(node.value, str | None):
        return node.value
    return tuple(map(_token, node.items()))


def _integer_or_none(node: Node) -> int | None:
    return None if node.value is None else node.integer()


def _pair(node: Node, expected: str) -> tuple[int, int]:
    numbers = [part.integer() for part in node.items()]
    if len(numbers) != 2:
        node.refuse(expected)
    return numbers[0], numbers[1]


def _vocabulary_text(vocabulary: Vocabulary) -> object:
    names = ("kind", "tokens", "bos", "eos")
    return {name: getattr(vocabulary, name) for name in names}


def _outputs_text(outputs: tuple[Value, ...] | Lattice) -> object:
    """Return outputs as JSON; a fraction is a list of numerator and denominator."""
    if isinstance(outputs, Lattice):
        bounds = {name: _fraction_text(getattr(outputs, name)) for name in ("low", "high", "unit")}
        return {**bounds, "parts": outputs.parts}
    return [_fraction_text(v) if isinstance(v, Fraction) else v for v in outputs]


def _fraction_text(value: Fraction) -> list[int]:
    return [value.numerator, value.denominator]


def _outputs(node: Node) -> tuple[Value, ...] | Lattice:
    if isinstance(node.value, list):
        return tuple(map(_value, node.items()))
    members = node.members("low high unit parts")
    return Lattice(
        _fraction(members["low"]),
        _fraction(members["high"]),
        _fraction(members["unit"]),
        members["parts"].integer(),
    )


def _value(node: Node) -> Value:
    if isinstance(node.value, list):
        return _fraction(node)
    return node.value if isinstance(node.value, str | bool) else node.integer()


def _fraction(node: Node) -> Fraction:
    numerator, denominator = _pair(node, "a numerator and a denominator")
    if denominator < 1:
        node.refuse("a numerator and a denominator")
    return Fraction(numerator, denominator)

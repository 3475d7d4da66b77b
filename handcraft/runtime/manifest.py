"""The JSON text of a model file: config, vocabulary and description, written and read strictly.

Reading trusts nothing: every member must be there, of its type, and no other may be. What does
not fit raises `HandcraftError` with the path to it.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NoReturn, TypeVar, cast, get_args

from handcraft.errors import HandcraftError
from handcraft.runtime.certificate import Certificate, HeadBound, Threshold, Verdict
from handcraft.runtime.config import Activation, Attention, Config, LayerConfig, Readout
from handcraft.runtime.description import (
    Description,
    FoldedLine,
    Lattice,
    Operation,
    OperationKind,
    ResidualVariable,
    ResultKind,
    Value,
)
from handcraft.runtime.guide import Guide
from handcraft.runtime.vocabulary import Kind, Token, Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = 1
"""The number of the file format; a reader refuses larger ones."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Manifest:
    """What a file says beside its arrays."""

    config: Config
    vocabulary: Vocabulary
    description: Description


def write_manifest(manifest: Manifest) -> str:
    """Return the manifest as sorted JSON in ASCII: the same manifest, the same text."""
    vocabulary, description = manifest.vocabulary, manifest.description
    members = {
        "format": FORMAT,
        "config": asdict(manifest.config),
        "vocabulary": {
            "kind": vocabulary.kind,
            "tokens": vocabulary.tokens,
            "bos": vocabulary.bos,
            "eos": vocabulary.eos,
        },
        "kind": description.kind,
        "outputs": _outputs_text(description.outputs),
        "margin": description.margin,
        "window_safe": description.window_safe,
        "residual": [asdict(variable) for variable in description.residual],
        "operations": [asdict(operation) for operation in description.operations],
        "folded": [asdict(line) for line in description.folded],
        "provenance": dict(description.provenance),
        "certificate": None if description.certificate is None else asdict(description.certificate),
        "formats": description.formats,
        "sequences": description.sequences,
        "guide": None if description.guide is None else asdict(description.guide),
    }
    return json.dumps(members, sort_keys=True, separators=(",", ":"), allow_nan=False)


def read_manifest(text: str) -> Manifest:
    """Return the manifest that `write_manifest` has written.

    Raises:
        HandcraftError: `bad-manifest`, or what the records themselves refuse.
    """
    try:
        parsed = json.loads(text, object_pairs_hook=_members, parse_constant=_refuse_constant)
    except RecursionError:
        raise HandcraftError("bad-manifest", "its JSON is nested too deeply") from None
    except ValueError as error:
        raise HandcraftError("bad-manifest", f"its JSON is broken ({error})") from None
    root = _Node(parsed, "")
    _check_format(root)
    members = root.members(
        "format config vocabulary kind outputs margin window_safe residual operations folded"
        " provenance certificate formats sequences guide"
    )
    certificate = members["certificate"]
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
        sequences=tuple(node.text() for node in members["sequences"].items()),
        guide=None if members["guide"].value is None else _guide(members["guide"]),
    )
    return Manifest(_config(members["config"]), _vocabulary(members["vocabulary"]), description)


@dataclass(frozen=True, slots=True)
class _Node:
    """A value of the JSON and the path to it."""

    value: object
    path: str

    def mapping(self) -> Mapping[str, object]:
        if not isinstance(self.value, dict):
            self.refuse("an object")
        return self.value

    def named(self) -> dict[str, _Node]:
        return {
            name: _Node(value, f"{self.path}.{name}".strip("."))
            for name, value in self.mapping().items()
        }

    def members(self, names: str) -> dict[str, _Node]:
        found = self.named()
        expected = names.split()
        for name in expected:
            if name not in found:
                raise HandcraftError(
                    "bad-manifest", f"`{f'{self.path}.{name}'.strip('.')}` is missing in its JSON"
                )
        if len(found) > len(expected):
            extra = min(set(found) - set(expected))
            raise HandcraftError("bad-manifest", f"`{found[extra].path}` is unknown in its JSON")
        return found

    def items(self) -> list[_Node]:
        if not isinstance(self.value, list):
            self.refuse("a list")
        return [_Node(value, f"{self.path}[{n}]") for n, value in enumerate(self.value)]

    def text(self) -> str:
        if not isinstance(self.value, str):
            self.refuse("text")
        return self.value

    def flag(self) -> bool:
        if not isinstance(self.value, bool):
            self.refuse("true or false")
        return self.value

    def integer(self) -> int:
        if not isinstance(self.value, int) or isinstance(self.value, bool):
            self.refuse("a whole number")
        return self.value

    def number(self) -> float:
        if not isinstance(self.value, int | float) or isinstance(self.value, bool):
            self.refuse("a number")
        try:
            return float(self.value)
        except OverflowError:
            self.refuse("a number within float64")

    def one_of(self, names: tuple[T, ...]) -> T:
        found = next((name for name in names if name == self.value), None)
        if found is None:
            self.refuse(f"one of {', '.join(map(str, names))}")
        return found

    def refuse(self, expected: str) -> NoReturn:
        found = repr(self.value)
        short = found if len(found) <= 40 else f"{found[:37]}..."
        raise HandcraftError(
            "bad-manifest", f"`{self.path or 'the whole'}` of its JSON is `{short}`, not {expected}"
        )


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) < len(pairs):
        raise HandcraftError("bad-manifest", "its JSON has a name twice")
    return members


def _refuse_constant(name: str) -> NoReturn:
    raise HandcraftError("bad-manifest", f"its JSON has the number `{name}`")


def _check_format(root: _Node) -> None:
    found = root.mapping().get("format")
    if not isinstance(found, int) or isinstance(found, bool) or found < 1:
        raise HandcraftError("bad-manifest", "it has no format number")
    if found > FORMAT:
        raise HandcraftError(
            "newer-format",
            f"it was made by a newer version (format {found}, this version reads {FORMAT})",
            help="install a newer version of handcraft",
        )


def _config(node: _Node) -> Config:
    members = node.members(
        "n_ctx n_vocab d_model n_out layers attention activation layer_norm"
        " layer_norm_epsilon tied start readout"
    )
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
    )


def _layer(node: _Node) -> LayerConfig:
    members = node.members("n_head d_head d_mlp")
    return LayerConfig(
        members["n_head"].integer(), members["d_head"].integer(), members["d_mlp"].integer()
    )


def _vocabulary(node: _Node) -> Vocabulary:
    members = node.members("kind tokens bos eos")
    return Vocabulary(
        members["kind"].one_of(cast("tuple[Kind, ...]", get_args(Kind))),
        tuple(map(_token, members["tokens"].items())),
        _token_or_none(members["bos"]),
        _token_or_none(members["eos"]),
    )


def _token(node: _Node) -> Token:
    return node.value if isinstance(node.value, str) else node.integer()


def _token_or_none(node: _Node) -> Token | None:
    return None if node.value is None else _token(node)


def _variable(node: _Node) -> ResidualVariable:
    members = node.members("name first_direction labels meaning line layers")
    layers = members["layers"]
    return ResidualVariable(
        members["name"].text(),
        members["first_direction"].integer(),
        tuple(label.text() for label in members["labels"].items()),
        members["meaning"].text(),
        _integer_or_none(members["line"]),
        None if layers.value is None else _pair(layers, "a first and a last layer"),
    )


def _certificate(node: _Node) -> Certificate:
    members = node.members("verdicts heads thresholds")
    return Certificate(
        tuple(map(_verdict, members["verdicts"].items())),
        tuple(map(_head_bound, members["heads"].items())),
        tuple(map(_threshold, members["thresholds"].items())),
    )


def _verdict(node: _Node) -> Verdict:
    members = node.members("format proved error margin reason")
    return Verdict(
        members["format"].text(),
        members["proved"].flag(),
        members["error"].number(),
        members["margin"].number(),
        members["reason"].text(),
    )


def _head_bound(node: _Node) -> HeadBound:
    members = node.members("name layer index gap leaks")
    return HeadBound(
        members["name"].text(),
        members["layer"].integer(),
        members["index"].integer(),
        members["gap"].number(),
        tuple(leak.number() for leak in members["leaks"].items()),
    )


def _threshold(node: _Node) -> Threshold:
    members = node.members("name layer index margins")
    return Threshold(
        members["name"].text(),
        members["layer"].integer(),
        members["index"].integer(),
        tuple(margin.number() for margin in members["margins"].items()),
    )


def _operation(node: _Node) -> Operation:
    members = node.members("layer kind index text line last others")
    return Operation(
        members["layer"].integer(),
        members["kind"].one_of(cast("tuple[OperationKind, ...]", get_args(OperationKind))),
        members["index"].integer(),
        members["text"].text(),
        _integer_or_none(members["line"]),
        _integer_or_none(members["last"]),
        tuple(line.integer() for line in members["others"].items()),
    )


def _folded(node: _Node) -> FoldedLine:
    members = node.members("line text")
    return FoldedLine(members["line"].integer(), members["text"].text())


def _guide(node: _Node) -> Guide:
    members = node.members("symbols rows words")
    return Guide(
        tuple(map(_token, members["symbols"].items())),
        tuple(tuple(map(_integer_or_none, row.items())) for row in members["rows"].items()),
        tuple(state.integer() for state in members["words"].items()),
    )


def _integer_or_none(node: _Node) -> int | None:
    return None if node.value is None else node.integer()


def _pair(node: _Node, expected: str) -> tuple[int, int]:
    numbers = [part.integer() for part in node.items()]
    if len(numbers) != 2:
        node.refuse(expected)
    return numbers[0], numbers[1]


def _outputs_text(outputs: tuple[Value, ...] | Lattice) -> object:
    """Return outputs as JSON; a fraction is a list of numerator and denominator."""
    if isinstance(outputs, Lattice):
        bounds = {name: _fraction_text(getattr(outputs, name)) for name in ("low", "high", "unit")}
        return {**bounds, "parts": outputs.parts}
    return [_fraction_text(v) if isinstance(v, Fraction) else v for v in outputs]


def _fraction_text(value: Fraction) -> list[int]:
    return [value.numerator, value.denominator]


def _outputs(node: _Node) -> tuple[Value, ...] | Lattice:
    if isinstance(node.value, list):
        return tuple(map(_value, node.items()))
    members = node.members("low high unit parts")
    return Lattice(
        _fraction(members["low"]),
        _fraction(members["high"]),
        _fraction(members["unit"]),
        members["parts"].integer(),
    )


def _value(node: _Node) -> Value:
    if isinstance(node.value, list):
        return _fraction(node)
    return node.value if isinstance(node.value, str | bool) else node.integer()


def _fraction(node: _Node) -> Fraction:
    numerator, denominator = _pair(node, "a numerator and a denominator")
    if denominator < 1:
        node.refuse("a numerator and a denominator")
    return Fraction(numerator, denominator)

"""What a model file says beside its arrays: what the logits mean, and where everything came from.

numpy is not imported here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from math import isfinite
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from handcraft.errors import HandcraftError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from handcraft.runtime.certificate import Certificate
    from handcraft.runtime.guide import Guide
    from handcraft.runtime.recipe import Recipe

Value: TypeAlias = int | Fraction | str | bool
ResultKind: TypeAlias = Literal["predict", "allow", "logits", "output"]
OperationKind: TypeAlias = Literal["embedding", "head", "mlp", "unembed"]
SequenceName: TypeAlias = Literal["source", "tokens"]


@dataclass(frozen=True, slots=True)
class Lattice:
    """A set of numbers too large for a list: `unit * a / w` between two bounds.

    Attributes:
        low: the least number.
        high: the largest number.
        unit: a positive number.
        parts: w is a whole number from 1 to this one, a any whole number.
    """

    low: Fraction
    high: Fraction
    unit: Fraction
    parts: int

    def __post_init__(self) -> None:
        if self.unit <= 0 or self.parts < 1 or self.low > self.high:
            raise HandcraftError("bad-description", f"no number fits {self}")

    def nearest(self, number: float) -> Fraction:
        """Return the number of the set that is nearest."""
        bounded = min(max(Fraction(number), self.low), self.high)
        near = (bounded / self.unit).limit_denominator(self.parts) * self.unit
        return min(max(near, self.low), self.high)


@dataclass(frozen=True, slots=True)
class ResidualVariable:
    """A variable of the program and the directions of the residual stream that hold it.

    Attributes:
        name: the name in the program's own words.
        first_direction: the first of its directions; the others follow.
        labels: what each direction stands for.
        meaning: one sentence.
        line: the line of the program, where it comes from one.
        layers: the first and the last layer in which the directions are this variable's: -1 is
            the embedding, the number of layers the unembedding; None if unknown.
        sequence: whose residual stream it is in: `tokens`, or `source` for the encoder's.
    """

    name: str
    first_direction: int
    labels: tuple[str, ...]
    meaning: str
    line: int | None = None
    layers: tuple[int, int] | None = None
    sequence: SequenceName = "tokens"

    @property
    def last_direction(self) -> int:
        """The last of its directions."""
        return self.first_direction + len(self.labels) - 1


@dataclass(frozen=True, slots=True)
class Operation:
    """A component of the model and what it computes.

    Attributes:
        layer: counted from 0; -1 for the embedding, the number of layers for the unembedding.
        kind: which sort of component.
        index: which head, or which first neuron.
        text: what it computes, in the program's own words.
        line: the line of the program, where it comes from one.
        last: the last neuron; None for what has no neurons, or if unknown.
        others: further lines of which it does something.
        sequence: where it stands: `source` in the encoder, `tokens` anywhere else.
        across: a head that reads the source from here; the cross heads of a layer are counted
            from 0 again.
    """

    layer: int
    kind: OperationKind
    index: int
    text: str
    line: int | None
    last: int | None = None
    others: tuple[int, ...] = ()
    sequence: SequenceName = "tokens"
    across: bool = False


@dataclass(frozen=True, slots=True)
class FoldedLine:
    """A line of the program that no component is for, and what became of it.

    Attributes:
        line: its number.
        text: what became of it: `folded into line 6`.
    """

    line: int
    text: str


@dataclass(frozen=True, slots=True)
class Description:
    """What the numbers of a model mean.

    Attributes:
        kind: the result statement of the program.
        outputs: the values that `output` can give: one for each logit, or those of which the
            nearest to the one logit counts; empty where the logits are about tokens.
        margin: the smallest proved distance between different logits; 0 if unknown.
        window_safe: what it says after a long text is what it says after the text's end.
        residual: which direction of the residual stream holds what.
        operations: what each component computes.
        folded: lines of the program without a component of their own.
        provenance: the program's name, the compiler's version.
        certificate: what was proved, if anything.
        formats: the floating-point formats that can tell apart all that the model decides on;
            empty if unknown.
        sequences: the names of the sequences that the model reads: `tokens`, and before it
            `source` where there is an encoder.
        guide: which texts it can go on with, where it predicts what a pattern says.
        recipe: what it was compiled from and how, where it was compiled.
    """

    kind: ResultKind
    outputs: tuple[Value, ...] | Lattice = ()
    margin: float = 0.0
    window_safe: bool = False
    residual: tuple[ResidualVariable, ...] = ()
    operations: tuple[Operation, ...] = ()
    folded: tuple[FoldedLine, ...] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    certificate: Certificate | None = None
    formats: tuple[str, ...] = ()
    sequences: tuple[SequenceName, ...] = ("tokens",)
    guide: Guide | None = None
    recipe: Recipe | None = None

    def __post_init__(self) -> None:
        if not (isfinite(self.margin) and self.margin >= 0):
            raise HandcraftError("bad-description", f"a margin is not `{self.margin}`")
        if not isinstance(self.outputs, Lattice):
            object.__setattr__(self, "outputs", tuple(map(plain, self.outputs)))
        object.__setattr__(self, "provenance", MappingProxyType(dict(self.provenance)))


def plain(value: Value) -> Value:
    """Return an integral fraction as `int`, and any other value as it is."""
    if isinstance(value, Fraction) and value.denominator == 1:
        return value.numerator
    return value

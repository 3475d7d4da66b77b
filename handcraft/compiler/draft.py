"""A dataflow graph while it is made: variables, when they are written, what they are at start.

Times: embeddings are written at 0, by the heads of layer L at 2 L + 1, by its neurons at 2 L + 2.

At the hidden start token every direction has a known value: the token sees nothing but itself
(causally, or because every head makes it attend to itself), so its whole column of the network is
one computation without input, done here in exact numbers. That is how a head can give the start
token any key and any moved value: the form is corrected by a multiple of the start direction.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from handcraft.compiler.drafted import (
    HeadDraft,
    MlpDraft,
    Pattern,
    frozen,
    meant,
    reads_of,
    writes_of,
)
from handcraft.compiler.forms import (
    START,
    Direction,
    Form,
    Number,
    combine,
    direction,
    magnitude,
    whole,
)
from handcraft.compiler.graph import (
    Embedding,
    Graph,
    Readout,
    Variable,
    form_writes,
    readout_forms,
)
from handcraft.compiler.levels import HEAD_MERGING
from handcraft.compiler.neurons import result_of
from handcraft.compiler.precision import Precision
from handcraft.compiler.purposes import Gate, Gates
from handcraft.errors import ProgramError
from handcraft.language.sequences import TARGET

if TYPE_CHECKING:
    from collections.abc import Container, Mapping, Sequence
    from fractions import Fraction

    from handcraft.compiler.levels import Passes
    from handcraft.compiler.neurons import Layer
    from handcraft.errors import Span

NUMBER = "value"
"""The one label of a variable that holds a number of any sign."""

SHARE = "1/(1+w)"
"""The one label of a variable that holds a share of attention, exact relative to itself."""

SHARE_ERROR = 4
"""Roundings of its own size that a share is off: only the start token moves anything."""


MOST_EMBEDDED = 2**20
"""Numbers of a one-hot that an embedding writes."""


class StartNeededError(Exception):
    """The graph of a sequence was begun without a start token, and a head needs one."""

    def __init__(self, sequence: str) -> None:
        super().__init__(sequence)
        self.sequence = sequence


class Draft:
    """The graph of one sequence under construction, with or without a start token."""

    def __init__(self, passes: Passes, *, start: bool, sequence: str = TARGET) -> None:
        self.passes = passes
        self.start = start
        self.sequence = sequence
        self.variables: dict[str, Variable] = {}
        self.embeddings: dict[str, Embedding] = {}
        self._times: dict[str, int] = {}
        self._at_start: dict[Direction, Number] = {}
        self._ops: list[HeadDraft | MlpDraft] = []
        self.precision = Precision()
        if start:
            self.variable("start", ("start",), "1 at the hidden start token", None)
            self.embeddings["start"] = Embedding("start", "start", ((1,),))
            self._at_start[START] = 1

    # Variables -------------------------------------------------------------------------------

    def variable(self, name: str, labels: Sequence[str], meaning: str, span: Span | None) -> str:
        """Declare a variable and return its name, made unique."""
        unique = _unique(name, self.variables)
        self.variables[unique] = Variable(unique, tuple(labels), meaning, span)
        self._times[unique] = 0
        return unique

    def embed(
        self,
        name: str,
        labels: Sequence[str],
        by: str,
        rows: Sequence[Sequence[Number]],
        meaning: str,
    ) -> str:
        """Declare a variable that the embeddings write."""
        unique = self.variable(name, labels, meaning, None)
        exact = tuple(tuple(map(whole, row)) for row in rows)
        self.embeddings[unique] = Embedding(unique, by, exact)
        for i, values in enumerate(zip(*exact, strict=True)):
            self.precision.embedded((unique, i), max(map(magnitude, values)))
        return unique

    def embed_onehot(self, name: str, labels: Sequence[str], by: str, meaning: str) -> str:
        """Declare a one-hot that the embeddings write, one direction for each row.

        Raises:
            ProgramError: `too-large`.
        """
        n = len(labels)
        if n * n > MOST_EMBEDDED:
            message = f"a one-hot of the {name} needs {n} x {n} numbers"
            help_ = "use a smaller context or vocabulary"
            raise ProgramError("too-large", message, help=help_)
        unique = self.variable(name, labels, meaning, None)
        zeros = (0,) * n
        rows = tuple((*zeros[:i], 1, *zeros[i + 1 :]) for i in range(n))
        self.embeddings[unique] = Embedding(unique, by, rows)
        for i in range(n):
            self.precision.embedded((unique, i), 1)
        return unique

    def time(self, forms: Sequence[Form]) -> int:
        """Return when everything that forms read has been written."""
        return max((self._times[name] for f in forms for (name, _), _ in f.terms), default=0)

    def require_start(self) -> None:
        """Raise unless the graph has a start token."""
        if not self.start:
            raise StartNeededError(self.sequence)

    def at_start(self, form: Form, value: Number) -> Form:
        """Return a form corrected to have this value at the start token."""
        if not self.start:
            return form
        return combine(((1, form), (value - form.at(self._at_start), direction(*START))))

    def errors(self, x: Form, points: Sequence[Fraction]) -> list[Number]:
        """Return bounds on the error of a number where it is each of these, in roundoffs.

        A share 1/(1+w) is exact relative to itself, not to its largest size.
        """
        if any(self.variables[name].labels == (SHARE,) for name, _ in x.directions):
            return [SHARE_ERROR * point for point in points]
        return [self.precision.error(x)] * len(points)

    # Operations ------------------------------------------------------------------------------

    def attend(
        self,
        name: str,
        pattern: Pattern,
        columns: Sequence[Form],
        targets: Sequence[Direction],
        text: str,
        span: Span,
        *,
        winners: int | None,
        alike: bool = False,
        read: Draft,
    ) -> None:
        """Let a head move forms, each to its target; `winners` is the most keys that win together.

        A head that looks at the same keys does it, if there is one and the forms exist in time.
        `read` is the graph of the keys: this one, or that of the source, which is there before.
        """
        moved = () if pattern.across else (*pattern.keys, *columns)
        time = (self.time((*pattern.queries, *moved)) + 1) // 2 * 2 + 1
        head = self._same_pattern(pattern, columns) if HEAD_MERGING in self.passes else None
        if head is None:
            head = HeadDraft(self._op_name(name), pattern, time, text, span, winners, alike)
            self._ops.append(head)
        elif text not in head.text:
            head.text = f"{head.text}; {text}"
        if pattern.aim not in head.aims:
            head.aims.append(pattern.aim)
        if winners is not None:
            head.winners = min(winners, head.winners or winners)
        head.alike = head.alike and alike
        for form, target in zip(columns, targets, strict=True):
            head.columns.append((form, {target: 1}))
            head.at_start.append(form.at(read._at_start))
            self._written(target, head.at_start[-1], head.time)
            self.precision.moved(target, form, read.precision, mean=winners != 1)

    def _same_pattern(self, pattern: Pattern, columns: Sequence[Form]) -> HeadDraft | None:
        heads = (op for op in self._ops if isinstance(op, HeadDraft) and op.pattern == pattern)
        ready = -1 if pattern.across else self.time(columns)
        return next((head for head in heads if ready < head.time), None)

    def compute(
        self, name: str, layer: Layer, targets: Sequence[Direction], text: str, span: Span
    ) -> None:
        """Let neurons compute outputs, each added to its target."""
        time = (self.time([u.pre for u in layer.units]) + 2) // 2 * 2
        units = [
            (unit.pre, {targets[k]: value for k, value in unit.out.items()}) for unit in layer.units
        ]
        bias = {target: b for target, b in zip(targets, layer.bias, strict=True) if b}
        outputs: list[dict[Direction, Number]] = [{target: 1} for target in targets]
        start_from = result_of(dict(enumerate(layer.bias)))
        unique = self._op_name(name)
        parts = (units, bias, layer.function, start_from, outputs, layer.scan)
        self._ops.append(MlpDraft(unique, time, text, span, *parts))
        at_start = list(layer.bias)
        for unit in layer.units:
            activation = unit.pre.at(self._at_start)
            if activation > 0:
                for k, value in unit.out.items():
                    at_start[k] += activation * value
        for target, value in zip(targets, at_start, strict=True):
            self._written(target, value, time)
        self.precision.computed(targets, layer)

    def send(self, values: Mapping[Direction, Form], name: str, span: Span) -> None:
        """Add forms to directions that embeddings write, after their last reader.

        An operation that writes what a form reads adds a multiple of it to the target itself, if
        that comes late enough; the rest is copied by neurons, and constants by the last operation.
        What a form reads of the embedded directions is copied before anything is added to them.
        """
        targets = set(values)
        last = max((op.time for op in self._ops if targets & reads_of(op)), default=0)
        after = max(2, (last + 1) // 2 * 2)
        if any(targets & set(form.directions) for form in values.values()):
            last = after
        copies: dict[int, dict[Direction, dict[Direction, Number]]] = {}
        constants: dict[Direction, Number] = {}
        for target, form in values.items():
            if form.constant:
                constants[target] = form.constant
            for read, coefficient in form.terms:
                embedded = read[0] in self.embeddings
                writers = [] if embedded else [op for op in self._ops if read in writes_of(op)]
                if writers and all(op.time >= last for op in writers):
                    for out in (out for op in writers for out in meant(op) if read in out):
                        out[target] = out.get(target, 0) + coefficient * out[read]
                else:
                    time = max(after, (self._times[read[0]] + 2) // 2 * 2)
                    copies.setdefault(time, {}).setdefault(read, {})[target] = coefficient
        if constants and not copies and all(op.time < last for op in self._ops):
            copies[after] = {}
        for time, copied in sorted(copies.items()):
            units = _copies(copied, self.variables)
            text = "copies to the token directions"
            gates = Gates(tuple(Gate(pre, ((k, 1),)) for k, (pre, _) in enumerate(units)))
            outs = [dict(out) for _, out in units]
            unique = self._op_name(name)
            self._ops.append(MlpDraft(unique, time, text, span, units, {}, gates, (), outs))
        if constants:
            late = next(op for op in reversed(self._ops) if op.time >= last)
            for target, value in constants.items():
                late.bias[target] = late.bias.get(target, 0) + value
                late.always[target] = late.always.get(target, 0) + value

    # The whole -------------------------------------------------------------------------------

    def finished(self, readout: Readout, margin: Fraction) -> Graph:
        """Return the graph."""
        order = sorted(range(len(self._ops)), key=lambda i: (self._ops[i].time, i))
        return Graph(
            tuple(self.variables.values()),
            tuple(self.embeddings.values()),
            tuple(frozen(self._ops[i]) for i in order),
            readout,
            margin,
            self.start,
            tuple(self.embeddings.values()),
            readout_forms(readout),
        )

    def _written(self, target: Direction, at_start: Number, time: int) -> None:
        self._at_start[target] = self._at_start.get(target, 0) + at_start
        self._times[target[0]] = max(self._times[target[0]], time)

    def _op_name(self, name: str) -> str:
        return _unique(name, {op.name for op in self._ops})


def _unique(name: str, taken: Container[str]) -> str:
    """Return a name with a number behind it if it is taken."""
    unique, copy = name, 1
    while unique in taken:
        copy += 1
        unique = f"{name}.{copy}"
    return unique


def _copies(
    copies: Mapping[Direction, Mapping[Direction, Number]], variables: Mapping[str, Variable]
) -> list[tuple[Form, dict[Direction, Number]]]:
    """Return neurons that copy directions: one for those of a one-hot that go the same way.

    A number may be negative: it is relu(x) - relu(-x).
    """
    units: list[tuple[Form, dict[Direction, Number]]] = []
    groups: dict[tuple[str, tuple[tuple[Direction, Number], ...]], list[Form]] = {}
    for (name, index), outs in sorted(copies.items()):
        if variables[name].labels == (NUMBER,):
            for sign in (1, -1):
                out = {target: sign * c for target, c in outs.items()}
                units.append((direction(name, index).scaled(sign), out))
        else:
            groups.setdefault((name, form_writes(outs)), []).append(direction(name, index))
    joined = [(combine((1, f) for f in forms), dict(outs)) for (_, outs), forms in groups.items()]
    return units + joined

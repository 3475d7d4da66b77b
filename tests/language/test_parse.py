"""What a program's text means as a tree."""

from __future__ import annotations

import logging
from fractions import Fraction

import pytest
from lark import Lark

from handcraft.errors import ProgramError, Source, Span
from handcraft.language import syntax
from handcraft.language.parse import DEEPEST, grammar_text, parse

NOWHERE = Span(Source(""), 0, 0)


def module(text: str) -> syntax.Module:
    return parse(Source(text))


def statement(text: str) -> syntax.Statement:
    (only,) = module(text).body
    return only


def expression(text: str) -> syntax.Expression:
    bare = statement(f"({text});")
    assert isinstance(bare, syntax.Bare)
    return bare.value


def name(text: str) -> syntax.Name:
    return syntax.Name(text, NOWHERE)


def number(value: int) -> syntax.Number:
    return syntax.Number(Fraction(value), NOWHERE)


def string(text: str) -> syntax.Text:
    return syntax.Text(text, NOWHERE)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("-2 ^ 2", "-(2 ^ 2)"),
        ("2 ^ 3 ^ 4", "2 ^ (3 ^ 4)"),
        ("2 ** 3", "2 ^ 3"),
        ("2 ^ -1", "2 ^ (-1)"),
        ("2 ^ -1 ^ 3", "2 ^ (-(1 ^ 3))"),
        ("f(x) ^ a[1]", "(f(x)) ^ (a[1])"),
        ("-f(x)", "-(f(x))"),
        ("- - + x", "-(-(+x))"),
        ("-a * b", "(-a) * b"),
        ("a * b / c // d % e", "(((a * b) / c) // d) % e"),
        ("a + b * c - d", "(a + (b * c)) - d"),
        ("a - b - c", "(a - b) - c"),
        ("a + b == c", "(a + b) == c"),
        ("not a == b", "not (a == b)"),
        ("not a in b", "not (a in b)"),
        ("not not a", "not (not a)"),
        ("not a and b", "(not a) and b"),
        ("a or b and c", "a or (b and c)"),
        ("a and b or c", "(a and b) or c"),
        ("a or b or c", "(a or b) or c"),
        ("a if b or c else d", "a if (b or c) else d"),
        ("a or b if c else d", "(a or b) if c else d"),
        ("a if b else c if d else e", "a if b else (c if d else e)"),
        ("f(x)(y)[z].w", "(((f(x))(y))[z]).w"),
        ("a + b in c", "(a + b) in c"),
        ("x==i and y", "(x == i) and y"),
    ],
)
def test_operators_hold_together_as_in_python(written: str, meant: str) -> None:
    assert expression(written) == expression(meant)


def test_brackets_change_the_tree() -> None:
    assert expression("(a - b) - c") != expression("a - (b - c)")


def test_comparisons_chain() -> None:
    expected = syntax.Comparison(
        name("a"),
        (("<", name("b")), ("!=", name("c")), ("in", name("d")), ("not in", name("e"))),
        NOWHERE,
    )
    assert expression("a < b != c in d not  in e") == expected


def test_the_sides_of_a_conditional_are_in_their_places() -> None:
    expected = syntax.Conditional(name("a"), name("b"), name("c"), NOWHERE)
    assert expression("a if b else c") == expected


@pytest.mark.parametrize("op", ["==", "!=", "<", "<=", ">", ">="])
def test_a_comparison_operator_can_be_an_argument(op: str) -> None:
    expected = syntax.Call(
        name("select"), (name("k"), name("q"), syntax.Operator(op, NOWHERE)), (), NOWHERE
    )
    assert expression(f"select(k,q,{op})") == expected


def test_arguments_can_have_names() -> None:
    expected = syntax.Call(name("f"), (name("a"),), (("b", number(2)), ("c", number(3))), NOWHERE)
    assert expression("f(a, b=2, c = 3,)") == expected


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("3", Fraction(3)),
        ("0.25", Fraction(1, 4)),
        (".5", Fraction(1, 2)),
        ("1e3", Fraction(1000)),
        ("1.5E-2", Fraction(3, 200)),
        ("0.1", Fraction(1, 10)),
        ("007", Fraction(7)),
    ],
)
def test_numbers_are_exact(text: str, value: Fraction) -> None:
    assert expression(text) == syntax.Number(value, NOWHERE)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('"ab"', "ab"),
        ("'ab'", "ab"),
        ('""', ""),
        ('"it\'s"', "it's"),
        (r'"\n\t\r\\\"\'"', "\n\t\r\\\"'"),
        (r'"\x41\u00e9\\x41"', "Aé\\x41"),
        ('"#;"', "#;"),
        ('"§"', "§"),
    ],
)
def test_strings_take_either_quote_and_escapes(text: str, value: str) -> None:
    assert expression(text) == string(value)


@pytest.mark.parametrize(("text", "value"), [("True", True), ("False", False)])
def test_truth_values_are_words(text: str, value: bool) -> None:
    assert expression(text) == syntax.Truth(value, NOWHERE)


def test_words_that_begin_like_reserved_words_are_names() -> None:
    names = ["iffy", "not_a", "Truex", "android", "order", "inner", "define", "elsewhere", "größe"]
    assert [expression(each) for each in names] == [name(each) for each in names]


def test_lists_and_dicts_may_end_in_a_comma_or_be_empty() -> None:
    assert expression("[]") == syntax.ListDisplay((), NOWHERE)
    assert expression("{}") == syntax.DictDisplay((), NOWHERE)
    assert expression("[1, 2,]") == syntax.ListDisplay((number(1), number(2)), NOWHERE)
    entries = ((string("a"), number(1)), (string("b"), number(2)))
    assert expression('{"a": 1, "b": 2,}') == syntax.DictDisplay(entries, NOWHERE)


def test_comprehensions_have_targets_and_may_have_a_condition() -> None:
    assert expression("[f for p, q in l if c]") == syntax.ListComprehension(
        name("f"), ("p", "q"), name("l"), name("c"), NOWHERE
    )
    assert expression("{k: v for k in d}") == syntax.DictComprehension(
        name("k"), name("v"), ("k",), name("d"), None, NOWHERE
    )


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("x = a;", syntax.Assign(("x",), (name("a"),), NOWHERE)),
        ("x, y = a, b;", syntax.Assign(("x", "y"), (name("a"), name("b")), NOWHERE)),
        ("return a, b;", syntax.Return((name("a"), name("b")), NOWHERE)),
        ("a;", syntax.Bare(name("a"), NOWHERE)),
        ('load "lib/more";', syntax.Load("lib/more", NOWHERE)),
        ('vocab "ab";', syntax.Vocab(string("ab"), NOWHERE)),
        ("vocab 0..9;", syntax.Vocab(syntax.IntegerRange(number(0), number(9), NOWHERE), NOWHERE)),
        (
            "vocab -3..3;",
            syntax.Vocab(
                syntax.IntegerRange(syntax.Unary("-", number(3), NOWHERE), number(3), NOWHERE),
                NOWHERE,
            ),
        ),
        ("context 5;", syntax.Context(number(5), NOWHERE)),
        ('bos "^";', syntax.Marker("bos", string("^"), NOWHERE)),
        ('eos ".";', syntax.Marker("eos", string("."), NOWHERE)),
        ("attention causal;", syntax.Attention("causal", NOWHERE)),
        ("source a;", syntax.SourceSequence(name("a"), None, NOWHERE)),
        ("source a context 5;", syntax.SourceSequence(name("a"), number(5), NOWHERE)),
        ("predict a;", syntax.Predict(name("a"), NOWHERE)),
        ("allow a;", syntax.Allow(name("a"), None, NOWHERE)),
        ("allow a if b;", syntax.Allow(name("a"), name("b"), NOWHERE)),
        ("logits a;", syntax.Logits(name("a"), NOWHERE)),
        ("output a;", syntax.Output(name("a"), NOWHERE)),
        ('example "a" -> b;', syntax.Example(string("a"), name("b"), NOWHERE)),
        ("assume a;", syntax.Assume(name("a"), NOWHERE)),
        ("for i, s in l { a; }", syntax.For(
            ("i", "s"), name("l"), (syntax.Bare(name("a"), NOWHERE),), NOWHERE
        )),
        ("for i in l { };", syntax.For(("i",), name("l"), (), NOWHERE)),
    ],
)  # fmt: skip
def test_each_statement_is_a_node(text: str, expected: syntax.Statement) -> None:
    assert statement(text) == expected


def test_definitions_nest_and_have_defaults() -> None:
    inner = syntax.Definition("g", (), (syntax.Return((name("x"),), NOWHERE),), NOWHERE)
    parameters = (
        syntax.Parameter("x", None, NOWHERE),
        syntax.Parameter("n", number(1), NOWHERE),
    )
    expected = syntax.Definition("f", parameters, (inner,), NOWHERE)
    assert statement("def f(x, n = 1,) { def g() { return x; }; }") == expected


def test_a_choice_of_the_allowed_token_is_always_allowed() -> None:
    choice = syntax.Conditional(name("a"), name("b"), name("c"), NOWHERE)
    assert statement("allow a if b else c;") == syntax.Allow(choice, None, NOWHERE)
    assert statement("allow (a if b else c);") == syntax.Allow(choice, None, NOWHERE)
    conditional = syntax.Allow(choice, name("d"), NOWHERE)
    assert statement("allow (a if b else c) if d;") == conditional
    assert statement("allow d if a if b else c;") == syntax.Allow(name("d"), choice, NOWHERE)


@pytest.mark.parametrize(
    "word",
    [
        *("vocab", "context", "bos", "eos", "attention", "source", "predict", "allow", "logits"),
        *("output", "example", "assume", "load"),
        *("set", "show", "draw", "full", "seq", "exit", "quit", "state", "next", "accepts"),
    ],
)
def test_statement_words_are_names_before_an_equals_sign_and_inside_expressions(word: str) -> None:
    assigned = syntax.Assign((word,), (number(3),), NOWHERE)
    assert statement(f"{word} = 3;") == assigned
    assert statement(f"{word}=3;") == assigned
    assert statement(f"{word} # a comment = b\n = 3;") == assigned
    assert statement(f"{word}, y = z;") == syntax.Assign((word, "y"), (name("z"),), NOWHERE)
    assert statement(f"y, {word} = z;") == syntax.Assign(("y", word), (name("z"),), NOWHERE)
    assert statement(f"y = {word};") == syntax.Assign(("y",), (name(word),), NOWHERE)
    call = syntax.Call(name("f"), (name(word),), ((word, name(word)),), NOWHERE)
    assert statement(f"f({word}, {word}={word});") == syntax.Bare(call, NOWHERE)
    parameter = syntax.Parameter(word, None, NOWHERE)
    assert statement(f"def {word}({word}) {{ }}") == syntax.Definition(
        word, (parameter,), (), NOWHERE
    )
    assert statement(f"for {word} in y {{ }}") == syntax.For((word,), name("y"), (), NOWHERE)


def test_the_source_sequence_can_be_read_at_the_start_of_a_statement() -> None:
    tokens = syntax.Attribute(name("source"), "tokens", NOWHERE)
    assert statement("source.tokens;") == syntax.Bare(tokens, NOWHERE)


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ('set example "hello"', 'set example "hello"'),
        ('set s-op example "a;#b"  # why', 'set s-op example "a;#b"'),
        ("set example example2", "set example example2"),
        ("set example [4,7,10];", "set example [4,7,10]"),
        ("show example", "show example"),
        ("show selector example;", "show selector example"),
        ('draw(hist, "abc");', 'draw(hist, "abc")'),
        ("full seq display on ", "full seq display on"),
        ("full seq display off;", "full seq display off"),
        ("examples on", "examples on"),
        ("selector examples off", "selector examples off"),
        ("exit", "exit"),
        ("quit();", "quit()"),
    ],
)
def test_statements_of_the_shell_end_with_their_line(line: str, text: str) -> None:
    shell = syntax.Repl(text, NOWHERE)
    after = syntax.Assign(("x",), (number(1),), NOWHERE)
    assert module(f"{line}\nx = 1;").body == (shell, after)
    assert module(f"x = 1;\n{line}").body == (after, shell)


def test_a_statement_after_the_semicolon_of_a_shell_statement_is_read() -> None:
    assert module('set example "a"; x = 1;').body[1:] == module("x = 1;").body


def test_a_call_of_draw_inside_an_expression_is_a_call() -> None:
    call = syntax.Call(name("draw"), (number(3),), (), NOWHERE)
    assert statement("x = draw(3);") == syntax.Assign(("x",), (call,), NOWHERE)


RASP_STYLE = """
tokens = tokens_str;
set example "a<B"
full seq display on
def width(sel) {\t# counts
\tat0 = select(indices,0,==);
\tinverted = aggregate(sel or at0,indicator(indices==0));
\treturn round((1/inverted)-1 + aggregate(sel and at0,1,0));
}
full = select(1,1,==);
def pairs(left,right) {
\tdef both(s){
\t\treturn aggregate(full,indicator(s))>0;
\t}
\topeners = [p[0] for p in left+right];
\tsum = {n:left[n] if tokens in openers else
\t\t\tright[n] for n in left};
\treturn {i:both(sum[i]) for i in sum}, -1 if indices==0 else both(left);
}
a,b = pairs([1],[2]);
a,b,c =
\t[width(s) for s in [full,full,full]];
stages = [];
for _ in range(3) {
\tfor n,d in zip(["x","y"],[a,b]) {
\t\tstages = stages + [{n:d,"z":(not (a==b)) and not tokens in ["p","q"]}];
\t}
}
last = a[-1];
res = "T" if a else ("F" if b else "?");
full("hello");
"a" if indices%2==1 else tokens;
"""


def test_programs_in_the_style_of_rasp_are_read() -> None:
    kinds = [type(each).__name__ for each in module(RASP_STYLE).body]
    expected = "Assign Repl Repl Definition Assign Definition Assign Assign Assign For Assign"
    assert kinds == [*expected.split(), "Assign", "Bare", "Bare"]


def test_an_empty_text_and_a_comment_are_empty_programs() -> None:
    assert module("").body == ()
    assert module("# nothing").body == ()


def test_every_node_knows_its_place() -> None:
    text = "x = (a) + f(b)[1]; # end"
    assign = statement(text)
    assert isinstance(assign, syntax.Assign)
    total = assign.values[0]
    assert isinstance(total, syntax.Binary)
    assert assign.span.text == "x = (a) + f(b)[1];"
    assert total.span.text == "(a) + f(b)[1]"
    assert total.left.span.text == "a"
    assert total.right.span.text == "f(b)[1]"


@pytest.mark.parametrize(
    "text",
    [
        "x = " + "[" * 10_000 + "]" * 10_000 + ";",
        "x = " + "a + " * 5_000 + "a;",
        "x = " + "a ^ " * 5_000 + "a;",
        "x = " + "not " * 5_000 + "a;",
        "x = " + "a if b else " * 2_000 + "a;",
        "x = f" + "(a)" * 2_000 + ";",
        "def f() {" * 1_000 + "}" * 1_000,
    ],
    ids=["lists", "sums", "powers", "negations", "choices", "calls", "definitions"],
)
def test_a_tree_that_is_too_deep_is_refused_by_place(text: str) -> None:
    with pytest.raises(ProgramError) as caught:
        module(text)
    assert (caught.value.code, caught.value.message) == (
        "too-deep",
        f"this is more than {DEEPEST} levels deep",
    )
    assert caught.value.span is not None


def test_a_tree_of_the_greatest_depth_is_read() -> None:
    terms = DEEPEST - 1  # the statement is a level, the last term none
    module("x = " + "a + " * terms + "a;")
    with pytest.raises(ProgramError):
        module("x = " + "a + " * (terms + 1) + "a;")


def test_brackets_around_brackets_are_no_depth() -> None:
    assert statement("(" * 10_000 + "a" + ")" * 10_000 + ";") == syntax.Bare(name("a"), NOWHERE)


def test_ten_thousand_open_brackets_are_one_mistake() -> None:
    with pytest.raises(ProgramError, match="`\\(` is not closed"):
        module("x = " + "(" * 10_000)


def test_comments_full_of_number_signs_cost_no_time() -> None:
    assert len(module("output " + "# , = " * 5_000 + "\n a;").body) == 1


def test_the_grammar_has_no_conflict(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="lark"):
        Lark(grammar_text(), parser="lalr", debug=True)
        assert "onflict" not in caplog.text
        Lark('start: "a" | start start', parser="lalr", debug=True)
        assert "Shift/Reduce conflict" in caplog.text

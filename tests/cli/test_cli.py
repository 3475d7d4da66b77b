"""The command line, run in this process: what is printed where, and the exit codes."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

import handcraft

GALLERY = Path(__file__).parents[2] / "programs"

Run = Callable[..., Result]


def write(text: str, name: str = "p.rasp") -> str:
    Path(name).write_text(text, encoding="utf-8")
    return name


# compile -------------------------------------------------------------------------------------


def test_compile_says_what_the_weights_cost(run: Run) -> None:
    result = run("compile", str(GALLERY / "aab.rasp"), "-o", "aab.npz")
    account = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    model = handcraft.load("aab.npz")
    assert result.exit_code == 0
    assert result.stderr == ""
    assert account["layers"] == "1 (1 head, no MLP)"
    assert account["d_model"] == str(model.config.d_model)
    assert account["context"] == "5"
    total, nonzero = model.parameters.n_parameters, model.parameters.n_nonzero
    assert account["parameters"] == f"{total}, {nonzero} of them not zero"
    assert account["lm_head"] == "none: tied to `wte`"
    assert account["level"] == "1"
    assert account["readout"] == "tokens"
    assert account["window"] == "safe: the last 2 tokens decide what follows"
    assert account["formats"] == "float32, float64"
    assert account["certificate"] == "proved in float64, float32, float16, bfloat16"
    assert account["written"] == f"aab.npz, float32, {Path('aab.npz').stat().st_size:,} bytes"


def test_compile_tells_an_unembedding_of_its_own_apart(run: Run) -> None:
    result = run("compile", "hist", "-O2")
    account = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    counts = dict(handcraft.compile(GALLERY / "hist.rasp", optimize=2).parameters.counts())
    lm_head = counts.pop("lm_head.weight")
    others = sum(count.total for count in counts.values())
    nonzero = sum(count.nonzero for count in counts.values())
    assert account["lm_head"] == f"{lm_head.total}, {lm_head.nonzero} of them not zero"
    assert account["parameters"] == f"{others:,}, {nonzero} of them not zero"
    assert account["level"] == "2"


def test_compile_writes_nothing_without_a_name_for_it(run: Run) -> None:
    assert run("compile", "aab").stdout.endswith("written      nothing: give `-o F.npz`\n")
    assert list(Path().iterdir()) == []


def test_compile_stores_the_first_format(run: Run) -> None:
    run("compile", "aab", "-o", "aab.npz", "--dtype", "float64,float32")
    assert handcraft.load("aab.npz").parameters.dtype == "float64"


@pytest.mark.parametrize(
    ("text", "window"),
    [
        ('vocab "ab"; context 3; predict tokens;', "safe: the last token decides what follows"),
        (
            'vocab "ab"; context 3; predict "a" if indices == 1 else "b";',
            "not proved safe: generation stops at the context",
        ),
    ],
)
def test_compile_says_whether_the_window_may_slide(run: Run, text: str, window: str) -> None:
    assert f"window       {window}\n" in run("compile", write(text)).stdout


def test_compile_does_not_speak_of_a_window_where_nothing_is_generated(run: Run) -> None:
    assert "window" not in run("compile", "hist").stdout


def test_compile_lists_each_layer(run: Run) -> None:
    model = handcraft.compile(GALLERY / "induction.rasp")
    line = run("compile", "induction").stdout.splitlines()[0]
    assert line.startswith(f"layers       {model.config.n_layer} (")
    assert line.count(";") == model.config.n_layer - 1 > 0


def test_compile_of_a_copy_has_no_layers(run: Run) -> None:
    assert run("compile", "copy").stdout.startswith("layers       none\n")


@pytest.mark.parametrize(
    ("stage", "line"),
    [
        ("tree", "3  Assign both"),
        ("typed", "predict %12"),
        ("account", "                  layers  heads  d_model  neurons  parameters  lm_head"),
        ("manifest", "line 3   head 0.0"),
        ("graph", "embedding tokens by token"),
        ("placed", "layer 0"),
        ("weights", "wte.weight [2, 7] float32: 2 of 14 not zero"),
    ],
)
def test_emit_prints_one_stage_and_nothing_else(run: Run, stage: str, line: str) -> None:
    result = run("compile", "aab", "--emit", stage)
    assert result.exit_code == 0
    assert line in result.stdout.splitlines()
    assert "certificate" not in result.stdout
    assert run("compile", "aab", "--emit", stage).stdout == result.stdout


def test_the_account_ends_with_what_compile_tells(run: Run) -> None:
    last = run("compile", "sort", "-O2", "--emit", "account").stdout.splitlines()[-1]
    told = run("compile", "sort", "-O2").stdout
    name, level, layers, _heads, d_model, _neurons, parameters, lm_head = last.split()
    assert (name, level) == ("level", "2")
    assert f"layers       {layers} (" in told
    assert f"d_model      {d_model}\n" in told
    assert f"parameters   {parameters}, " in told
    assert f"lm_head      {lm_head}, " in told


@pytest.mark.parametrize("option", ["-O0", "-O2", "--optimize=0"])
def test_compile_compiles_at_the_level_that_is_asked_for(run: Run, option: str) -> None:
    run("compile", "sort", option, "-o", "sort.npz")
    expected = handcraft.compile(GALLERY / "sort.rasp", optimize=int(option[-1]))
    assert handcraft.load("sort.npz").config == expected.config
    assert expected.config != handcraft.compile(GALLERY / "sort.rasp").config


def test_a_model_that_fits_its_budget_is_told_by_how_much(run: Run) -> None:
    result = run("compile", "sort", "--budget", "d_model=64, layers=4", "-o", "sort.npz")
    config = handcraft.load("sort.npz").config
    assert result.exit_code == 0
    line = f"budget       fits: d_model {config.d_model} of 64, layers {config.n_layer} of 4\n"
    assert line in result.stdout


def test_a_budget_holds_exactly_what_fits(run: Run) -> None:
    config = handcraft.compile(GALLERY / "sort.rasp").config
    assert run("compile", "sort", "--budget", f"d_model={config.d_model}").exit_code == 0
    assert run("compile", "sort", "--budget", f"d_model={config.d_model - 1}").exit_code == 1


def test_weights_never_replace_a_program(run: Run, tmp_path: Path) -> None:
    program = tmp_path / "kept.rasp"
    program.write_text('vocab "ab"; context 2; output tokens;', encoding="utf-8")
    for words in (("compile", str(program)), ("pattern", "(ab)*", "--context", "3")):
        result = run(*words, "-o", str(program))
        assert (result.exit_code, result.stdout) == (2, "")
        assert "is the name of a program" in result.stderr
    assert program.read_text(encoding="utf-8").startswith("vocab")


def test_a_scale_that_proves_nothing_names_the_way_out(run: Run) -> None:
    result = run("compile", "aab", "--scale", "1")
    assert result.exit_code == 1
    assert "use another scale than 1, or none" in result.stderr


def test_a_model_that_does_not_fit_its_budget_is_not_written(run: Run) -> None:
    result = run("compile", "sort", "--budget", "layers=2", "-o", "sort.npz")
    assert result.exit_code == 1
    assert result.stdout == ""
    assert ": budget: `layers` is 3 at level 1, and the budget has 2: the longest chain is " in (
        result.stderr
    )
    assert not Path("sort.npz").exists()


@pytest.mark.parametrize(
    ("budget", "message"),
    [
        ("layer=4", "`layer=4` limits none of layers, heads, "),
        ("layers", "`layers` limits none of "),
        ("", "`` limits none of "),
        ("layers=four", "`four` is no whole number from 0"),
        ("layers=-1", "`-1` is no whole number from 0"),
        ("layers=4,layers=5", "`layers` is limited twice"),
    ],
)
def test_a_budget_that_is_none_is_misuse(run: Run, budget: str, message: str) -> None:
    result = run("compile", "aab", "--budget", budget)
    assert result.exit_code == 2
    assert message in result.stderr


def test_emit_and_a_budget_exclude_each_other(run: Run) -> None:
    assert run("compile", "aab", "--emit", "graph", "--budget", "layers=9").exit_code == 2


def test_emit_tree_needs_no_header(run: Run) -> None:
    assert run("compile", write("x = 1;"), "--emit", "tree").stdout.startswith("1  Assign x\n")


def test_emit_and_a_file_to_write_exclude_each_other(run: Run) -> None:
    result = run("compile", "aab", "--emit", "graph", "-o", "aab.npz")
    assert result.exit_code == 2
    assert "give one of them" in result.stderr


@pytest.mark.parametrize(
    ("vocab", "text", "answers"),
    [
        ("cab", "bca", "a b c"),
        ("0..12", "10 9 0", "0 9 10"),
        ("-3..3", "1 -3 2", "-3 1 2"),
        ('["low", "lower"]', "lower low", "low lower"),
        ("['b', 'a']", "b a", "a b"),
        ("[4, 2, 3]", "4 3 2", "2 3 4"),
        ("[]", "][", "[ ]"),
        ("..", ".", None),
    ],
)
def test_options_stand_for_a_header(run: Run, vocab: str, text: str, answers: str | None) -> None:
    given = ["--vocab", vocab, "--context", "4", "--output", "sort(tokens, tokens)"]
    result = run("run", write("# plain RASP"), text, *given)
    if answers is None:
        assert result.exit_code == 1
        assert "twice" in result.stderr
    else:
        assert result.stdout == f"{answers}\n"


def test_a_list_of_tokens_that_is_none_is_misuse(run: Run) -> None:
    result = run("compile", "aab", "--vocab", '["a", b]')
    assert result.exit_code == 2
    assert "no list of tokens" in result.stderr


def test_options_win_over_the_header(run: Run) -> None:
    assert "context      9\n" in run("compile", "aab", "--context", "9").stdout


# complete and run ----------------------------------------------------------------------------


def test_complete_prints_text_and_continuation(run: Run) -> None:
    run("compile", "aab", "-o", "aab.npz")
    result = run("complete", "aab.npz", "aab")
    assert (result.stdout, result.stderr, result.exit_code) == ("aab :: aabaabaaba\n", "", 0)


def test_complete_takes_a_program_too(run: Run) -> None:
    assert run("complete", "programs/aab.rasp", "abaab", "-n", "4").stdout == "abaab :: aaba\n"


def test_complete_stops_at_the_context_and_says_so(run: Run) -> None:
    program = write('vocab "ab"; context 4; predict "a" if indices == 2 else "b";')
    result = run("complete", program, "ab")
    assert result.exit_code == 1
    assert result.stdout == "ab :: bab\n"
    assert "note: stopped at the context of 4 tokens" in result.stderr
    assert "`--slide`" in result.stderr


def test_complete_slides_if_it_is_told_to(run: Run) -> None:
    program = write('vocab "ab"; context 4; predict "a" if indices == 2 else "b";')
    result = run("complete", program, "ab", "--slide", "-n", "6")
    assert (result.stdout, result.stderr, result.exit_code) == ("ab :: babbbb\n", "", 0)


def test_complete_draws_the_same_tokens_from_the_same_seed(run: Run) -> None:
    program = write('vocab "abc"; context 4; allow "a"; allow "b"; allow "c";')
    options = ["-n", "40", "--temperature", "1"]
    first, again, other = (
        run("complete", program, "a", *options, "--seed", seed).stdout for seed in ("5", "5", "6")
    )
    assert first == again != other
    assert run("complete", program, "a", *options, "--top-k", "1").stdout == f"a :: {'a' * 40}\n"


def test_complete_refuses_a_program_that_predicts_nothing(run: Run) -> None:
    result = run("complete", "hist", "hello")
    assert result.exit_code == 1
    assert result.stderr.endswith("help: use `run`\n")


@pytest.mark.parametrize(
    ("program", "text", "line", "listed"),
    [
        ("hist", "hello", "1 1 2 2 1", [1, 1, 2, 2, 1]),
        ("frac_prevs", "hell", "0 0 1/3 1/2", [0, 0, 1 / 3, 0.5]),
        ("contains_so_far", "hel", "False False True", [False, False, True]),
        ("sort", "hello", "e h l l o", ["e", "h", "l", "l", "o"]),
        ("aab", "aab", "b b a", ["b", "b", "a"]),
    ],
)
def test_run_prints_the_answer_at_each_position(
    run: Run, program: str, text: str, line: str, listed: list[object]
) -> None:
    assert run("run", program, text).stdout == f"{line}\n"
    found = json.loads(run("run", program, text, "--json").stdout)
    assert found == listed
    assert list(map(type, found)) == list(map(type, listed))


def test_run_lists_the_tokens_that_are_allowed(run: Run) -> None:
    program = write('vocab "abc"; context 4; allow "a"; allow "c" if tokens == "b";')
    assert run("run", program, "ab").stdout == "a a|c\n"
    assert json.loads(run("run", program, "ab", "--json").stdout) == [["a"], ["a", "c"]]


def test_complete_of_a_program_ends_before_eos_without_a_note(run: Run) -> None:
    program = write('vocab "ab"; context 3; eos "."; predict "." if indices == 2 else "b";')
    result = run("complete", program, "a")
    assert (result.stdout, result.stderr, result.exit_code) == ("a :: bb\n", "", 0)


def test_complete_shows_line_breaks_of_the_text_escaped(run: Run) -> None:
    program = write(r'vocab "a\n\t"; context 4; predict "a";')
    assert run("complete", program, "\n\ta", "-n", "2").stdout == "\\n\\ta :: aa\n"


@pytest.mark.parametrize("temperature", ["inf", "nan"])
def test_a_temperature_is_finite(run: Run, temperature: str) -> None:
    result = run("complete", "aab", "a", "--temperature", temperature)
    assert result.exit_code == 2
    assert f"a temperature is a finite number, not `{temperature}`" in result.stderr


def test_a_text_may_begin_with_a_negative_number(run: Run) -> None:
    program = write("vocab -3..3; context 4; output tokens;")
    assert run("run", program, "-3 2 3", "--json").stdout == "[-3, 2, 3]\n"
    assert run("run", program, "--", "-2").stdout == "-2\n"


def test_an_unknown_option_is_misuse_and_told_how_to_be_a_text(run: Run) -> None:
    result = run("run", "aab", "-x")
    assert result.exit_code == 2
    assert "write `--`" in result.stderr


def test_a_file_is_a_model_or_a_program_by_what_it_holds(run: Run) -> None:
    program = write('vocab "ab"; context 4; output indices;', "plain.txt")
    assert run("run", program, "aba").stdout == "0 1 2\n"
    run("compile", "aab", "-o", "aab.npz")
    Path("aab.npz").rename("aab.model")
    assert run("complete", "aab.model", "aab").stdout == "aab :: aabaabaaba\n"
    assert run("check", "aab.model").stderr.startswith("not-a-program: ")


@pytest.mark.parametrize("vocab", ["", "aa", "5..3", "0..99999", '["a", 1]'])
def test_a_vocabulary_that_cannot_be_is_placed_in_its_option(run: Run, vocab: str) -> None:
    result = run("run", "aab", "a", "--vocab", vocab)
    assert result.exit_code == 1
    assert result.stderr.startswith("--vocab:1:1: ")


def test_examples_do_not_outlive_the_result_or_the_vocabulary(run: Run) -> None:
    for given in (("--output", "indices"), ("--vocab", "abc")):
        result = run("check", "aab", "--longest", "2", "--random", "0", *given)
        assert (result.exit_code, result.stderr) == (0, "")
        assert result.stdout.startswith("examples   none\n")


# check ---------------------------------------------------------------------------------------


def test_check_reports_what_was_compared(run: Run) -> None:
    result = run("check", "aab", "--longest", "3", "--random", "20")
    assert result.exit_code == 0
    assert result.stdout.startswith("examples   2 of 2 hold\n")
    assert "inputs     14 of length up to 3 over a b, 20 random; 34 in scope\n" in result.stdout
    assert result.stdout.endswith("float32    0 differences\nfloat64    0 differences\n")


def test_check_compares_the_formats_that_are_asked_for(run: Run) -> None:
    result = run("check", "aab", "--longest", "1", "--random", "3", "--dtype", "float16")
    assert result.stdout.endswith("without meaning\nfloat16    0 differences\n")


def test_check_compares_several_levels_with_one_answer(run: Run) -> None:
    options = ["--longest", "2", "--random", "3", "--optimize", "0, 2"]
    result = run("check", "hist", *options)
    assert result.exit_code == 0
    assert result.stdout.splitlines()[-4:] == [
        "O0 float32  0 differences",
        "O0 float64  0 differences",
        "O2 float32  0 differences",
        "O2 float64  0 differences",
    ]


def test_check_asks_the_interpreter_once_for_all_levels(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    meaning = handcraft.Program.meaning

    def counted(program: handcraft.Program, text: str) -> object:
        asked.append(text)
        return meaning(program, text)

    monkeypatch.setattr(handcraft.Program, "meaning", counted)
    run("check", "aab", "--longest", "3", "--random", "0", "-O0,1,2")
    assert len(asked) == 2 + 4 + 8


def test_check_fails_where_an_example_does_not_hold(run: Run) -> None:
    program = write('vocab "ab"; context 4;\noutput tokens;\nexample "ab" -> ["a", "a"];')
    result = run("check", program, "--random", "0", "--longest", "1")
    assert result.exit_code == 1
    assert "examples   0 of 1 hold\n" in result.stdout
    assert 'line 3, "ab": expected a a, interpreter gives a b\n' in result.stdout
    assert 'line 3, "ab": expected a a, float64 gives a b\n' in result.stdout


def test_check_shows_the_smallest_input_without_meaning(run: Run) -> None:
    program = write('vocab "ab"; context 3; output aggregate(select(tokens, "b", ==), tokens);')
    result = run("check", program, "--random", "0")
    assert result.exit_code == 0
    assert 'the smallest without meaning: "a", position 0: nothing-selected: ' in result.stdout


def test_check_fails_where_the_model_differs(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    from handcraft.compiler import pipeline

    wrong = pipeline.compile_program(handcraft.parse('vocab "ab"; context 3; output "b";'))
    monkeypatch.setattr(
        pipeline, "compile_in", lambda program, f, **options: dict.fromkeys(f, wrong)
    )
    program = write('vocab "ab"; context 3; output tokens;')
    result = run("check", program, "--random", "0", "--longest", "1")
    assert result.exit_code == 1
    assert 'float32    1 difference\n           the smallest: "a", position 0:' in result.stdout
    assert "expected a, got b\n" in result.stdout


def test_check_needs_the_program(run: Run) -> None:
    run("compile", "aab", "-o", "aab.npz")
    result = run("check", "aab.npz")
    assert result.exit_code == 1
    assert result.stderr.startswith("not-a-program: `aab.npz` is a model")


# explain -------------------------------------------------------------------------------------


def test_explain_shows_components_and_on_request_a_run(run: Run) -> None:
    run("compile", "aab", "-o", "aab.npz")
    plain = run("explain", "aab.npz").stdout
    traced = run("explain", "aab.npz", "--text", "aab").stdout
    assert plain.startswith("aab.rasp: predict, causal, context 5, window-safe\n")
    assert traced.startswith(f"{plain}\nlayer 0, head 0")
    assert traced.endswith("answers\n  a  b\n  a  b\n  b  a\n")


def test_explain_shows_what_does_the_work_of_each_line(run: Run) -> None:
    run("compile", "induction", "-O2", "-o", "induction.npz")
    lines = run("explain", "induction.npz", "--lines").stdout.splitlines()
    assert lines == [
        "line 6   head 0.0; directions 17..23 previous_token",
        "line 7   head 1.0; unembedding; directions 7..14 aggregate",
        "no line  directions 0 start, 1..6 tokens, 15..16 indices",
    ]
    manifest = run("compile", "induction", "-O2", "--emit", "manifest").stdout.splitlines()
    assert manifest == lines


def test_explain_and_complete_take_a_level_for_a_program(run: Run) -> None:
    one, two = (run("explain", "sort", level, "--lines").stdout for level in ("-O0", "-O2"))
    assert one != two
    assert run("complete", "aab", "aab", "-O2").stdout == "aab :: aabaabaaba\n"


def test_explain_shows_either_lines_or_a_run(run: Run) -> None:
    assert run("explain", "aab", "--lines", "--text", "a").exit_code == 2


@pytest.mark.parametrize("arguments", [("explain",), ("complete", "a")])
def test_a_level_does_not_fit_a_model(run: Run, arguments: tuple[str, ...]) -> None:
    run("compile", "aab", "-o", "aab.npz")
    name, *text = arguments
    result = run(name, "aab.npz", *text, "-O2")
    assert result.exit_code == 2
    assert "--optimize is for programs" in result.stderr


# Mistakes ------------------------------------------------------------------------------------


def test_warnings_go_to_stderr(run: Run) -> None:
    program = write('vocab "ab"; context 4; output length;')
    for arguments in (("compile", program), ("run", program, "a"), ("check", program)):
        result = run(*arguments)
        assert result.exit_code == 0
        assert result.stderr.startswith("p.rasp:1:31: warning: causal-length: ")


@pytest.mark.parametrize("name", ["compile", "check"])
def test_strict_makes_warnings_errors(run: Run, name: str) -> None:
    result = run(name, write('vocab "ab"; context 4; output length;'), "--strict")
    assert result.exit_code == 1
    assert result.stderr.startswith("p.rasp:1:31: causal-length: ")
    assert result.stdout == ""


def test_a_mistake_is_told_with_its_line(run: Run) -> None:
    result = run("compile", write('vocab "ab";\ncontext 4;\noutput tokns;'))
    assert result.exit_code == 1
    assert result.stdout == ""
    assert (
        result.stderr
        == """\
p.rasp:3:8: unknown-name: `tokns` is not defined
3 | output tokns;
           ^^^^^
help: write `tokens`
"""
    )


def test_a_mistake_in_an_option_is_told_with_its_place(run: Run) -> None:
    result = run("compile", "hist", "--output", "tokns + 1")
    assert result.stderr.startswith("<output>:1:1: unknown-name: `tokns` is not defined\n")


def test_a_file_that_is_not_there_is_told_with_the_nearest_of_the_gallery(run: Run) -> None:
    result = run("compile", "programs/abb.rasp")
    assert result.exit_code == 1
    assert result.stderr == (
        "no-file: there is no file `programs/abb.rasp`\nhelp: the gallery has `programs/aab.rasp`\n"
    )


@pytest.mark.parametrize("name", ["other/aab.rasp", "/programs/aab.rasp", "aab.txt", "zzzzz"])
def test_only_a_plain_name_means_the_gallery(run: Run, name: str) -> None:
    result = run("compile", name)
    assert result.exit_code == 1
    assert result.stderr.startswith(f"no-file: there is no file `{name}`\n")


def test_a_file_of_ones_own_wins_over_the_gallery(run: Run) -> None:
    program = write('vocab "z"; context 2; predict "z";', "aab.rasp")
    assert run("complete", program, "z", "-n", "3").stdout == "z :: zzz\n"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("complete", "aab", "abc"), "<input>:1:3: unknown-token: "),
        (("complete", "aab", ""), "empty-text: "),
        (("run", "aab", "aabaab"), "too-long: "),
        (("explain", "aab", "--text", "aabaab"), "too-long: "),
        (("run", "none.npz", "a"), "cannot-read: "),
        (("run", ".", "a"), "cannot-read: "),
        (("compile", "."), "is-a-folder: "),
        (("compile", "aab", "-o", "missing/aab.npz"), "cannot-write: "),
        (("compile", "aab", "--output", "1 +"), "<output>:1:"),
    ],
)
def test_a_mistake_ends_with_one(run: Run, arguments: tuple[str, ...], code: str) -> None:
    result = run(*arguments)
    assert result.exit_code == 1
    assert result.stderr.startswith(code)
    assert result.stdout == ""


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("compile",),
        ("complete", "aab"),
        ("conquer", "aab"),
        ("complete", "aab", "a", "-n", "-1"),
        ("complete", "aab", "a", "-n", "many"),
        ("compile", "aab", "--context", "0"),
        ("compile", "aab", "--dtype", "float31"),
        ("compile", "aab", "--emit", "soup"),
        ("compile", "aab", "-O3"),
        ("compile", "aab", "-O", "fast"),
        ("check", "aab", "-O0,3"),
        ("explain", "aab", "-O", "-1"),
        ("compile", "aab", "--attention", "both"),
        ("check", "aab", "--longest", "-1"),
    ],
)
def test_misuse_ends_with_two(run: Run, arguments: tuple[str, ...]) -> None:
    assert run(*arguments).exit_code == 2


def test_options_of_programs_do_not_fit_a_model(run: Run) -> None:
    run("compile", "aab", "-o", "aab.npz")
    result = run("complete", "aab.npz", "a", "--context", "9")
    assert result.exit_code == 2
    assert "--context is for programs" in result.stderr


def test_the_version_is_the_packages(run: Run) -> None:
    assert run("--version").stdout == f"handcraft, version {handcraft.__version__}\n"


def test_every_command_says_what_it_does(run: Run) -> None:
    listed = run("--help").stdout
    for name in ("compile", "complete", "run", "check", "explain"):
        assert f"\n  {name} " in listed
        assert run(name, "--help").exit_code == 0


@pytest.mark.parametrize(
    ("output", "text", "code"),
    [
        ('aggregate(select(tokens, "a", ==), tokens)', "ba", "nothing-selected"),
        ("aggregate(past, tokens)", "aab", "several-selected"),
        ("1 / (indices - 1)", "aaa", "division-by-zero"),
    ],
)
def test_run_of_a_program_refuses_a_text_without_meaning(
    run: Run, output: str, text: str, code: str
) -> None:
    result = run("run", write(f'vocab "abc"; context 8; output {output};'), text)
    assert (result.exit_code, result.stdout) == (1, "")
    assert f": {code}: " in result.stderr


def test_complete_of_a_program_refuses_a_text_without_meaning(run: Run) -> None:
    text = 'vocab "abc"; context 8; predict aggregate(select(tokens, "a", ==), tokens);'
    result = run("complete", write(text), "b")
    assert (result.exit_code, result.stdout) == (1, "")
    assert ": nothing-selected: " in result.stderr

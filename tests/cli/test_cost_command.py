"""`handcraft cost`: what it prints for programs, model files, and models that read a source."""

from __future__ import annotations

from collections.abc import Callable

from click.testing import Result

Run = Callable[..., Result]

AAB = """\
FLOPs        2 for each multiply-add of a matrix product, masked pairs included
left out     look-ups, sums, biases, softmax, norms, activations
not zero     without weights of 0 and masked pairs; the other pairs are scored and mixed whole
text         5 tokens of a context of 5
parameters   180, 31 of them not zero
weights      720 bytes in float32, zeros included
cache        32 bytes a position

one pass over the text      FLOPs  not zero
  embedding                     0         0
  layer 0  q, k, v            840       200
  layer 0  scores             200       120
  layer 0  mixing             200       120
  layer 0  output             280        20
  unembedding                 140        20
  together                  1,660       480

token by token              FLOPs  not zero
  with a cache              1,500       480
  without, a pass for each  4,660     1,280
"""


def test_cost_prints_every_part_and_what_they_come_to(run: Run) -> None:
    result = run("cost", "aab")
    assert (result.exit_code, result.stderr) == (0, "")
    assert result.stdout == AAB


def test_a_model_file_costs_what_its_program_does(run: Run) -> None:
    run("compile", "aab", "-o", "aab.npz")
    assert run("cost", "aab.npz").stdout == AAB
    longer = run("cost", "aab", "--context", "9", "--tokens", "5", "-O2").stdout
    assert "text         5 tokens of a context of 9\n" in longer


def test_what_sees_the_future_has_no_cache(run: Run) -> None:
    told = run("cost", "sort", "--tokens", "1").stdout
    assert "text         1 token of a context of 8, and a start token\n" in told
    assert "not zero     without weights of 0; every pair is seen, and scored and mixed who" in told
    assert "cache        none: every new token changes what the others say\n" in told
    assert "with a cache" not in told
    assert "without, a pass for each" in told


def test_the_source_is_told_apart(run: Run) -> None:
    told = run("cost", "translate", "--source", "2", "--tokens", "3").stdout
    assert "source       2 tokens of a context of 8, and a start token\n" in told
    assert "text         3 tokens of a context of 9\n" in told
    assert "cache        0 bytes a position, 72 bytes a position of the source\n" in told
    assert "\n  encoder embedding" in told
    assert "\n  layer 0  cross k, v" in told
    assert "\n  of this, once for the source" in told
    assert "\n  without, a pass for each, the source read each time" in told


def test_mistakes_are_told_in_a_line(run: Run) -> None:
    result = run("cost", "aab", "--tokens", "6")
    assert result.exit_code == 1
    assert result.stderr == (
        "too-long: the text has 6 tokens, its context is 5\n"
        "help: ask for fewer tokens, or compile the program with a larger context\n"
    )
    assert run("cost", "aab", "--source", "1").stderr.startswith("no-source: ")
    assert run("cost", "aab", "--tokens", "0").exit_code == 2
    assert run("cost", "nothing.npz").exit_code == 1
    run("compile", "aab", "-o", "aab.npz")
    assert run("cost", "aab.npz", "-O2").exit_code == 2

"""What all tests share: reproducible random examples, golden texts, and how much is tried.

`tests/acceptance` tries a few inputs of one length; with `--random-inputs 300` so many of each of
three lengths, and every short input; with `-m full` 10,000, in two processes.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from collections.abc import Callable

    import click.testing
    from comparing import Result

GOLDEN = Path(__file__).parent / "golden"
EXPORT = Path(__file__).parent / "export"

ON_REQUEST = {
    "test_full.py": "-m full",
    "test_patterns_full.py": "-m full",
    "test_three_lengths.py": "--random-inputs",
}
"""Files that are not even collected unless they are asked for: no test is ever left out."""

RESULTS: pytest.StashKey[list[Result]] = pytest.StashKey()
"""What the long runs of `tests/acceptance` found."""

# Set before numpy is loaded: for small matrices a second thread costs more than it gives.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

# The same examples in every run; `--hypothesis-profile thorough` draws new ones, and many more.
settings.register_profile("reproducible", derandomize=True, deadline=None, max_examples=100)
settings.register_profile("thorough", derandomize=False, deadline=None, max_examples=5000)
settings.load_profile("reproducible")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden", action="store_true", help="write the texts in tests/golden anew"
    )
    parser.addoption(
        "--random-inputs", type=int, help="try so many of each length in tests/acceptance"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.stash[RESULTS] = []


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let the warnings of other people's libraries pass in the tests of exports."""
    for item in items:
        if item.path.is_relative_to(EXPORT):
            item.add_marker(pytest.mark.filterwarnings("ignore"))


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    asked = {
        "-m full": config.getoption("markexpr") != "not full",
        "--random-inputs": config.getoption("random_inputs") is not None,
    }
    name = ON_REQUEST.get(collection_path.name)
    return True if name is not None and not asked[name] else None


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    results = config.stash[RESULTS]
    if results:
        from table import table  # found once tests/acceptance has been collected

        terminalreporter.section("models against the interpreter")
        for line in table(results):
            terminalreporter.line(line)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """Return a function that compares a text with the file of that name in tests/golden."""

    def compare(name: str, text: str) -> None:
        path = GOLDEN / f"{name}.txt"
        if request.config.getoption("--update-golden"):
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path.name} is missing; run pytest --update-golden and read it"
        assert text == path.read_text(encoding="utf-8")

    return compare


@pytest.fixture
def in_table(pytestconfig: pytest.Config) -> Callable[[Result], Result]:
    """Return a function that puts a result into the table at the end."""

    def keep(result: Result) -> Result:
        pytestconfig.stash[RESULTS].append(result)
        return result

    return keep


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., click.testing.Result]:
    """Return a function that runs the command in an empty folder."""
    from click.testing import CliRunner

    from handcraft.cli.commands import handcraft as command

    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str) -> click.testing.Result:
        return CliRunner().invoke(command, arguments, catch_exceptions=False)

    return invoke

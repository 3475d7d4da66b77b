"""PyTorch's own counter finds in a stock GPT-2 the FLOPs that we say it takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from click.testing import CliRunner
from program_files import GALLERY

import handcraft
from handcraft.cli.commands import handcraft as command
from handcraft.exporting.export import export
from handcraft.runtime.cost import cost

if TYPE_CHECKING:
    from pathlib import Path

torch = pytest.importorskip("torch")
transformers = pytest.importorskip("transformers")
pytest.importorskip("safetensors")


@pytest.mark.parametrize("name", ["aab", "recall", "bigram"])
def test_a_stock_folder_takes_what_pytorch_counts(name: str, tmp_path: Path) -> None:
    from torch.utils.flop_counter import FlopCounterMode

    export(handcraft.compile(GALLERY / f"{name}.rasp"), tmp_path / name, to="gpt2")
    model = handcraft.load(tmp_path / name)
    network = transformers.AutoModelForCausalLM.from_pretrained(
        tmp_path / name, attn_implementation="eager"
    )
    with FlopCounterMode(display=False) as counter, torch.no_grad():
        network(torch.zeros(1, model.config.n_ctx, dtype=torch.long))
    found = cost(model)
    assert found.flops.total == counter.get_total_flops()
    result = CliRunner().invoke(command, ["cost", str(tmp_path / name)])
    assert result.exit_code == 0
    assert f"{found.flops.total:,}" in result.stdout

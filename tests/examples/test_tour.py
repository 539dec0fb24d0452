"""The notebook: of the right format, with outputs of a whole run, and its cells run."""

import json
from pathlib import Path
from typing import Any

import matplotlib as mpl
import pandas as pd
import pytest

FILE = Path(__file__).resolve().parents[2] / "examples" / "tour.ipynb"


@pytest.fixture(scope="module")
def cells() -> list[dict[str, Any]]:
    notebook = json.loads(FILE.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["metadata"]["kernelspec"]["language"]) == (4, "python")
    return notebook["cells"]


def test_it_was_run_from_top_to_bottom_without_an_error(cells: list[dict[str, Any]]) -> None:
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    kinds = {output["output_type"] for cell in code for output in cell["outputs"]}
    assert kinds <= {"stream", "display_data", "execute_result"}
    assert any("image/png" in output.get("data", {}) for cell in code for output in cell["outputs"])


def test_cells_run(cells: list[dict[str, Any]]) -> None:
    mpl.use("agg")
    shared: dict[str, Any] = {}
    asserted = 0
    with pd.option_context("display.max_colwidth", 50), pytest.MonkeyPatch.context() as patch:
        patch.setattr("matplotlib.pyplot.show", lambda: None)
        for number, cell in enumerate(cells):
            if cell["cell_type"] == "code":
                source = "".join(cell["source"])
                asserted += source.count("assert ")
                exec(compile(source, f"tour.ipynb, cell {number}", "exec"), shared)
        shared["plt"].close("all")
    assert asserted >= 5

"""bench/e2e/noise_cost.py: every method of the table of docs/choosing.md is measured, and in the form that it reads."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
for folder in ("bench", "bench/e2e"):
    sys.path.insert(0, str(ROOT / folder))

import noise_cost  # noqa: E402 - the folders of the scripts are no packages
import update_readme  # noqa: E402


def test_a_small_run_gives_every_row_of_the_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(noise_cost, "EPSILONS", (1.0, 1000.0))
    monkeypatch.setitem(noise_cost.SETTINGS, "n_estimators", 5)
    file = tmp_path / "noise_cost.json"
    arguments = ["--data", "adult", "--rows", "600", "--seeds", "2", "--json", str(file)]
    monkeypatch.setattr(sys, "argv", ["noise_cost.py", *arguments])
    noise_cost.main()
    document = json.loads(file.read_text())
    cells = document["cells"]
    # Without noise one run; with it two seeds at each epsilon.
    counts = {(key.split("|")[1]): 0 for key in cells}
    for key in cells:
        counts[key.split("|")[1]] += 1
    varies = dict.fromkeys(update_readme.NOISE_METHODS, 4) | {"plain": 1, "active party alone": 1}
    assert counts == varies
    # No noise to speak of: the model of `plain`.
    assert cells["adult|ldp|1000|0"]["auc"] == cells["adult|plain|1|0"]["auc"]
    assert cells["adult|plain|1|0"]["auc"] > 0.7
    table = update_readme.noise_section(tmp_path)
    assert "600 of adult" in table
    assert all(f"| adult | {method} | 0." in table for method in update_readme.NOISE_METHODS)

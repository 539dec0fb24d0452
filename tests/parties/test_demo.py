"""`vfxgb demo`: the first command people run."""

import builtins
import subprocess
import sys

import numpy as np
import psutil
import pytest

from vfxgb.cli import main
from vfxgb.demo import data as demo_data


def test_demo(tmp_path, capfd, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "vfxgb-demo").mkdir()
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    assert main(["demo", "--trees", "3"]) == 0
    assert {child.pid for child in psutil.Process().children(recursive=True)} <= before
    output = capfd.readouterr().out
    for wanted in ("two processes, mutual TLS", "bank and shop together", "all data in one place", "the bank alone"):
        assert wanted in output
    assert "what the shop learned" in output
    assert "nothing is left running" in output
    folder = tmp_path / "vfxgb-demo-2"
    assert (folder / "scores.csv").exists()
    assert (folder / "certs" / "bank.key").stat().st_mode & 0o077 == 0


def test_demo_refuses_a_folder_in_use(tmp_path, capsys):
    (tmp_path / "file").touch()
    assert main(["demo", "--out", str(tmp_path)]) == 2
    assert "not empty" in capsys.readouterr().err


@pytest.mark.parametrize("installed", [True, False])
def test_the_tables_of_the_demo(tmp_path, monkeypatch, installed):
    if not installed:
        real = builtins.__import__

        def absent(name, *rest):
            if name.startswith("sklearn"):
                raise ImportError(name)
            return real(name, *rest)

        monkeypatch.setattr(demo_data, "import_module", absent)
    pooled = demo_data.make_tables(tmp_path)
    assert ("generated" in pooled.source) is not installed
    assert set(pooled.bank) | set(pooled.shop) == set(range(len(pooled.names)))
    assert not set(pooled.train) & set(pooled.test)
    lines = (tmp_path / "bank_test.csv").read_text().splitlines()
    assert "label" not in lines[0]
    assert 0.2 < np.mean(pooled.y[pooled.test]) < 0.8


def test_the_help_of_the_command_names_every_code():
    found = subprocess.run([sys.executable, "-m", "vfxgb", "--help"], capture_output=True, text=True, check=True)
    for wanted in ("exit codes", "130", "ctrl-C", "check", "serve", "train", "predict", "inspect", "merge", "report"):
        assert wanted in found.stdout

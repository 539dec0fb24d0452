"""What `vfxgb clean` removes, and what it never does."""

import os
import time

import pytest

from vfxgb.cli import main
from vfxgb.errors import ConfigError
from vfxgb.party.cleaning import REMOVED, survey
from vfxgb.party.folder import PartyFolder, alone
from vfxgb.party.record import RunRecord

LONG_AGO = time.time() - 30 * 86_400


def add_run(folder, run, state, *, model=False, checkpoint=False, age=LONG_AGO):
    made = folder.run(run).make()
    made.write(RunRecord(run=run, party="shop", role="passive", state=state, started=age, parties=("bank", "shop")))
    if model:
        made.share_file.write_bytes(b"m" * 1000)
    if checkpoint:
        made.checkpoint_file.write_bytes(b"c" * 3000)
    for path in made.path.iterdir():
        os.utime(path, (age, age))


@pytest.fixture
def folder(tmp_path):
    """A party's folder with a run of every kind."""
    made = PartyFolder(tmp_path / "shop").make()
    add_run(made, "aa" * 16, "stopped", checkpoint=True)
    add_run(made, "bb" * 16, "failed")
    add_run(made, "cc" * 16, "finished", model=True, checkpoint=True)
    add_run(made, "dd" * 16, "running", checkpoint=True)
    made.run("ee" * 16).make()
    made.run("ff" * 16).make().run_file.write_text("damaged")
    (made.accounts / "bank.json").write_text("what bank was shown")
    (made.path / "releases").mkdir()
    (made.path / "releases" / "one").write_text("a release")
    made.queries_file.write_text("{}")
    made.log_file.write_text("{}\n")
    return made


def left(folder):
    return sorted(path.name[:2] for path in (folder.path / "runs").iterdir())


def everything_else(folder):
    return {
        path: path.read_bytes()
        for path in folder.path.rglob("*")
        if path.is_file() and (folder.path / "runs") not in path.parents
    }


def test_without_yes_nothing_changes_and_all_is_told(folder, capsys):
    assert main(["clean", str(folder.path)]) == 0
    said = capsys.readouterr().out
    assert left(folder) == ["aa", "bb", "cc", "dd", "ee", "ff"]
    assert "aaaaaaaa" in said
    assert "stopped, 0 of 0 rounds" in said
    assert "can be resumed" in said
    assert "never began" in said
    assert "damaged record" in said
    assert "kept, it has a model: cccccccc" in said
    assert "would remove 5 of 6 runs, " in said
    assert "accounts, budgets, releases and the log are not touched; add --yes" in said


def test_with_yes_runs_without_a_model_go_and_nothing_else(folder, capsys):
    before = everything_else(folder)
    assert main(["clean", str(folder.path), "--yes"]) == 0
    assert "removed 5 of 6 runs" in capsys.readouterr().out
    assert left(folder) == ["cc"]
    assert everything_else(folder) == before
    assert main(["clean", str(folder.path), "--yes"]) == 0
    assert "nothing to remove" in capsys.readouterr().out
    assert main(["clean", str(folder.path), "--yes", "--models"]) == 0
    assert left(folder) == []
    assert everything_else(folder) == before


def test_young_runs_stay_if_asked_and_ages_are_numbers(folder, capsys):
    add_run(folder, "99" * 16, "stopped", age=time.time() - 86_400)
    kept = {run.name: run.kept for run in survey(folder, older_days=7)}
    assert kept["99999999"] == "it changed within 7 days"
    assert kept["aaaaaaaa"] == ""
    assert main(["clean", str(folder.path), "--older", "soon"]) == 2
    assert "found 'soon', wanted a number, 0 or more" in capsys.readouterr().err


def test_a_run_that_is_worked_on_stays(folder):
    with alone(folder.run("aa" * 16).lock_file, "bank trains"):
        assert {run.name: run.kept for run in survey(folder)}["aaaaaaaa"] == "a process may be working on it"
    assert {run.name: run.kept for run in survey(folder)}["aaaaaaaa"] == ""
    # At a passive party one process has the lock of all its runs.
    with alone(folder.lock_file, "shop serves"):
        kept = {run.name: run.kept for run in survey(folder)}
    assert kept["dddddddd"] == "a process may be working on it"
    assert kept["aaaaaaaa"] == ""
    add_run(folder, "77" * 16, "running", age=time.time())
    assert {run.name: run.kept for run in survey(folder)}["77777777"] == "a process may be working on it"


def test_what_an_interrupted_clean_up_left_goes_next_time(folder, capsys):
    path = folder.run("aa" * 16).path
    path.rename(path.with_name(REMOVED + path.name))
    assert main(["clean", str(folder.path), "--yes"]) == 0
    assert "left over from an earlier clean-up" in capsys.readouterr().out
    assert left(folder) == ["cc"]


def test_a_folder_that_is_no_partys(tmp_path, capsys):
    with pytest.raises(ConfigError, match=r"there is no folder runs/ in it"):
        survey(PartyFolder(tmp_path))
    assert main(["clean", str(tmp_path / "nowhere")]) == 2
    assert "give the folder that a party's configuration names" in capsys.readouterr().err


def test_links_to_elsewhere_are_left_alone(folder, tmp_path):
    (tmp_path / "precious").mkdir()
    (folder.path / "runs" / "link").symlink_to(tmp_path / "precious")
    assert main(["clean", str(folder.path), "--yes", "--models"]) == 0
    assert (tmp_path / "precious").is_dir()

"""`vfxgb bench papers`: which scripts there are, what it does with one that fails, and what an interruption leaves."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from vfxgb.bench import papers
from vfxgb.bench.papers import USER_RESULTS, Clock, chosen_scripts, find_scripts, index, is_finished, run
from vfxgb.bench.script_folders import results_folder, scripts_folder
from vfxgb.cli import bench, main
from vfxgb.errors import UnknownNameError, VfxgbError

HELPER = '"""No script: nobody runs it.\n\nif __name__ == "__main__": in a docstring does not count.\n"""\n'
WRITES = '''
    """Figure {number} of papers/00{number} (Fake): what {name} is about.

    More words.
    """

    import json
    import sys
    from pathlib import Path

    MINUTES = (0.5, {number}.0)

    if __name__ == "__main__":
        out = Path(sys.argv[sys.argv.index("--out") + 1])
        Path(out / "{name}.json").write_text(json.dumps(
            {{"quick": "--quick" in sys.argv, "data": ["rows of {name}"], "seconds": 3, "args": sys.argv[1:],
              "finished": True, "settings": {{"threads": 2}}, "machine": {{"commit": "{commit}"}}}}
        ))
        (out / "{name}.md").write_text("# {name}\\n\\n![x]({name}_one.png)\\n")
        (out / "{name}_one.png").write_bytes(b"png")
        print("never seen")
'''
FAILS = '''
    """Figure 3 of papers/003 (Fake): it fails."""

    import sys

    if __name__ == "__main__":
        print("these words", file=sys.stderr)
        sys.exit(7)
'''
WAITS = '''
    """Figure 9 of papers/009 (Fake): it waits."""

    import sys
    import time
    from pathlib import Path

    if __name__ == "__main__":
        out = Path(sys.argv[sys.argv.index("--out") + 1])
        (out / "waiting").touch()
        try:
            time.sleep(60)
        except KeyboardInterrupt:
            (out / "told").touch()
            sys.exit(130)
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """bench/papers of a tree of its own: two scripts that work, in the order of their papers, and a helper."""
    folder_of_scripts = tmp_path / "bench/papers"
    folder_of_scripts.mkdir(parents=True)
    add(folder_of_scripts, "later", WRITES.format(name="later", number=2, commit="c0ffee"))
    add(folder_of_scripts, "sooner", WRITES.format(name="sooner", number=1, commit="c0ffee"))
    (folder_of_scripts / "helper.py").write_text(HELPER)
    return folder_of_scripts


def add(folder: Path, name: str, text: str) -> None:
    (folder / f"{name}.py").write_text(textwrap.dedent(text).lstrip())


def test_scripts_are_found_by_presence_in_the_order_of_the_papers(folder: Path) -> None:
    scripts = find_scripts(folder)
    assert list(scripts) == ["sooner", "later"]
    assert scripts["later"].about == "Figure 2 of papers/002 (Fake): what later is about"
    assert scripts["later"].minutes == (0.5, 2.0)


def test_all_scripts_run_and_the_index_shows_what_they_wrote(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    assert run([], True, out, threads=3, folder=folder) == []
    text = (out / "papers.md").read_text()
    assert "[sooner](sooner.md), [sooner_one.png](sooner_one.png) (--quick) | rows of sooner | c0ffee | 3 s |" in text
    assert text.endswith("\n\nAll are of commit c0ffee, without local changes.\n")
    assert text.index("sooner") < text.index("later")
    assert '"--threads", "3"' in (out / "later.json").read_text()
    said = capfd.readouterr()
    assert said.out == ""
    assert "[1/2] sooner: Figure 1" in said.err
    assert "(all: about 60 s left)" in said.err
    assert "[2/2] later: wrote" in said.err


def test_a_script_that_fails_is_reported_and_the_others_go_on(
    folder: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    add(folder, "a_failure", FAILS)
    out = tmp_path / "out"
    assert run(["a_failure", "later"], False, out, folder=folder) == ["a_failure"]
    said = capfd.readouterr().err
    assert "these words" in said
    assert "a_failure: failed with code 7" in said
    assert said.rstrip().endswith("failed: a_failure")
    text = (out / "papers.md").read_text()
    assert "[later](later.md)" in text
    assert "not run: `vfxgb bench papers a_failure`" in text
    assert "not run: `vfxgb bench papers sooner`" in text


def test_an_interruption_leaves_what_was_finished(folder: Path, tmp_path: Path) -> None:
    add(folder, "waits", WAITS)
    out = tmp_path / "out"
    code = (
        "import sys; from pathlib import Path; from vfxgb.cli import bench, main; "
        f"bench.scripts_folder = lambda topic: Path({str(folder)!r}); "
        f"sys.exit(main(['bench', 'papers', 'sooner', 'waits', 'later', '--out', {str(out)!r}]))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.PIPE, text=True)
    end = time.monotonic() + 60
    while not (out / "waiting").exists() and time.monotonic() < end:
        time.sleep(0.05)
    # To the one process, as `kill` does; a terminal would tell the script as well.
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130
    assert said.rstrip().endswith("vfxgb: interrupted")
    assert (out / "told").exists()
    text = (out / "papers.md").read_text()
    assert "[sooner](sooner.md)" in text
    assert "not run: `vfxgb bench papers later`" in text


def test_a_script_that_says_it_was_interrupted_ends_the_run(folder: Path, tmp_path: Path) -> None:
    add(folder, "a_failure", FAILS.replace("exit(7)", "exit(130)"))
    with pytest.raises(KeyboardInterrupt):
        run(["a_failure", "later"], False, tmp_path / "out", folder=folder)
    assert not (tmp_path / "out/later.md").exists()


def test_unknown_names_are_refused_before_anything_runs(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"found nope, wanted some of sooner, later"):
        run(["sooner", "nope"], False, tmp_path / "out", folder=folder)
    assert not (tmp_path / "out").exists()


def test_each_script_runs_once(folder: Path) -> None:
    scripts = find_scripts(folder)
    assert [script.name for script in chosen_scripts(scripts, ["later", "sooner", "later"])] == ["later", "sooner"]


def test_a_missing_package_is_one_line(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "scripts_folder", lambda topic: folder)
    monkeypatch.setattr(papers, "find_spec", lambda name: None if name == "matplotlib" else object())
    assert main(["bench", "papers", "--out", str(tmp_path / "out")]) == 2
    assert capsys.readouterr().err == "vfxgb: bench papers: matplotlib missing: pip install 'vfxgb[bench]'\n"


def test_list_and_index_run_nothing(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bench, "scripts_folder", lambda topic: folder)
    assert main(["bench", "papers", "--list"]) == 0
    assert "sooner     0.5       1   Figure 1 of papers/001 (Fake): what sooner is about" in capsys.readouterr().out
    assert main(["bench", "papers", "--index", "--out", str(tmp_path)]) == 0
    assert (tmp_path / "papers.md").read_text() == index(find_scripts(folder), tmp_path)
    assert not (tmp_path / "sooner.md").exists()


def test_quick_results_never_replace_committed_ones(folder: Path) -> None:
    assert results_folder(False, folder, USER_RESULTS) == Path("vfxgb-papers")
    committed = folder.parents[1] / "docs/results"
    committed.mkdir(parents=True)
    assert results_folder(False, folder, USER_RESULTS) == committed
    assert results_folder(True, folder, USER_RESULTS) == Path("vfxgb-papers")


def test_half_a_result_file_does_not_end_the_index(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "sooner.md").write_text("# sooner")
    (tmp_path / "sooner.json").write_text('{"quick": tr')
    text = index(find_scripts(folder), tmp_path)
    assert "| [sooner](sooner.md) |  |  |  |" in text
    assert text.endswith("\n\nNo result says of which commit it is.\n")


def test_the_index_says_whether_results_are_of_one_commit(folder: Path, tmp_path: Path) -> None:
    for name, measured in (("sooner", "c0ffee"), ("later", "beef+")):
        (tmp_path / f"{name}.md").write_text(f"# {name}")
        (tmp_path / f"{name}.json").write_text(json.dumps({"machine": {"commit": measured}}))
    scripts = find_scripts(folder)
    wanted = "They are not of one commit: 1 of c0ffee, 1 of beef+ (+: with local changes).\n"
    assert index(scripts, tmp_path).endswith(wanted)
    (tmp_path / "sooner.md").unlink()
    assert index(scripts, tmp_path).endswith("All are of commit beef+, with local changes.\n")


def test_a_run_is_resumed_with_what_is_finished_of_this_commit(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(papers, "commit", lambda tree: "c0ffee")
    out = tmp_path / "out"
    assert run(["sooner"], True, out, folder=folder, resume=True) == []
    assert "nothing is finished yet" in capfd.readouterr().err
    assert run([], True, out, folder=folder, resume=True) == []
    said = capfd.readouterr().err
    assert "finished from commit c0ffee before: sooner" in said
    assert "[1/1] later: wrote" in said
    assert "(all: about 30 s left)" in said
    # Whoever does not ask for it measures again.
    assert run(["sooner"], True, out, folder=folder) == []
    assert "[1/1] sooner: wrote" in capfd.readouterr().err


def test_what_counts_as_finished() -> None:
    whole = {
        "finished": True,
        "quick": False,
        "machine": {"commit": "c0ffee"},
        "settings": {"threads": 2},
    }
    assert is_finished(whole, "c0ffee", False, None)
    assert is_finished(whole, "c0ffee", False, 2)
    assert not is_finished(whole, "c0ffee", True, None)
    assert not is_finished(whole, "c0ffee", False, 1)
    assert not is_finished(whole, "beef", False, None)
    assert not is_finished({**whole, "finished": False}, "c0ffee", False, None)
    assert not is_finished({**whole, "machine": {"commit": "c0ffee+"}}, "c0ffee+", False, None)
    assert not is_finished({**whole, "machine": {"commit": ""}}, "", False, None)
    assert not is_finished({}, "c0ffee", False, None)


def test_committed_results_need_a_tree_without_local_changes(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = [f"file{place}" for place in range(7)]
    monkeypatch.setattr(papers, "local_changes", lambda tree: changed)
    monkeypatch.setattr(papers, "commit", lambda tree: "c0ffee+")
    committed = folder.parents[1] / "docs/results"
    committed.mkdir(parents=True)
    wanted = r"found 7 files that differ from commit c0ffee \(file0, file1, file2, file3, file4, \.\.\.\), wanted none"
    with pytest.raises(VfxgbError, match=wanted):
        run(["sooner"], False, None, folder=folder)
    assert list(committed.iterdir()) == []
    assert run(["sooner"], False, tmp_path / "elsewhere", folder=folder) == []
    changed.clear()
    assert run(["sooner"], False, None, folder=folder) == []
    assert (committed / "sooner.md").is_file()


def test_time_left_follows_the_pace_so_far() -> None:
    now = [0.0]
    clock = Clock([1.0, 3.0], lambda: now[0])
    assert clock.left() == "about 4 min left"
    now[0] = 30.0
    assert clock.finish() == 30.0
    assert clock.left() == "about 90 s left"


def test_the_scripts_of_this_installation() -> None:
    scripts = find_scripts(scripts_folder("papers"))
    assert {"batch_he", "batch_he_speed", "fedxgb_accuracy", "fedxgb_aggregation", "fedxgb_stages"} <= set(scripts)
    assert "common" not in scripts
    for script in scripts.values():
        assert "papers/00" in script.about
        assert script.minutes != papers.UNKNOWN_MINUTES, f"{script.name} does not say its MINUTES"
    # What --quick promises, and that all of it is done in 6 hours.
    assert sum(script.minutes[0] for script in scripts.values()) <= 15
    assert sum(script.minutes[1] for script in scripts.values()) <= 360

"""`vfxgb bench papers`: which scripts there are, what it does with one that fails, and what an interruption leaves."""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from vfxgb.bench import papers
from vfxgb.bench.papers import USER_RESULTS, Clock, chosen_scripts, find_scripts, index, run
from vfxgb.bench.script_folders import results_folder, scripts_folder
from vfxgb.cli import bench, main
from vfxgb.errors import UnknownNameError

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
            {{"quick": "--quick" in sys.argv, "data": ["rows of {name}"], "seconds": 3, "args": sys.argv[1:]}}
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
    add(folder_of_scripts, "later", WRITES.format(name="later", number=2))
    add(folder_of_scripts, "sooner", WRITES.format(name="sooner", number=1))
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
    assert "[sooner](sooner.md), [sooner_one.png](sooner_one.png) (--quick) | rows of sooner | 3 s |" in text
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
    assert "| [sooner](sooner.md) |  |  |" in index(find_scripts(folder), tmp_path)


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
    # What --quick promises.
    assert sum(script.minutes[0] for script in scripts.values()) <= 15

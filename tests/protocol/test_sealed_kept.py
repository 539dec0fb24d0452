"""Kept set-ups of `sealed`: one run at a time, damaged files, full disks, other rows; refusals say what to do."""

import errno
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from protocol_variants import params_of
from simulated_runs import fit_tables
from vfxgb import files
from vfxgb.errors import ConsentError, FormatError, LatticeError
from vfxgb.protocols.sealed import passive
from vfxgb.protocols.sealed.kept import read_wins
from vfxgb.train.simulate import FitResult

# Enters a set-up's lock, says so and waits to be told to leave it.
HOLD = """
import sys
from vfxgb.lattice.store import SetupFolder
with SetupFolder(*sys.argv[1:]).alone():
    print("held", flush=True)
    sys.stdin.read()
"""
FILES = {
    "order": "p1.p0.vfxgb-sealed-order",
    "wins": "p1.p0.vfxgb-sealed-wins",
    "seeds": "p1.p0.vfxgb-lattice-seeds",
    "the passive party's head": "p1.p0.vfxgb-lattice",
    "the active party's columns": "p0.p1.vfxgb-lattice",
}
Run = Callable[..., FitResult]


@pytest.fixture
def run(make_problem: Any, tmp_path: Path) -> Run:
    """A run of p0 and p1 with a kept set-up in tmp_path / "kept"; `changes` of the problem, `own` parameters."""
    folder = tmp_path / "kept"
    folder.mkdir()

    def begin(kept: bool = True, rows: int = 220, own: dict[str, Any] | None = None, **changes: Any) -> FitResult:
        problem = make_problem("missing", **{"n_estimators": 1, **changes})
        params = {**params_of("sealed"), **({"setup_dir": str(folder)} if kept else {}), **(own or {})}
        X, y = problem.tables(2), problem.y[:rows]
        tables = {party: table.take(range(rows)) for party, table in X.items()} if rows < len(problem.y) else X
        return fit_tables(tables, "p0", y, None, rows, problem.params, protocol="sealed", protocol_params=params)

    return begin


def blocks(result: FitResult) -> int:
    """Messages of encrypted columns that were sent."""
    return sum(entry.messages for entry in result.ledger.entries if entry.message == "lattice-block")


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Callable[[str, str], subprocess.Popen[bytes]]]:
    """Another process that has the set-up of a party with another."""
    processes: list[subprocess.Popen[bytes]] = []

    def hold(own: str, peer: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", HOLD, str(tmp_path / "kept"), own, peer]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        processes.append(process)
        assert process.stdout is not None
        assert process.stdout.readline() == b"held\n"
        return process

    yield hold
    for process in processes:
        process.kill()
        process.communicate()


@pytest.mark.parametrize(("own", "peer"), [("p0", "p1"), ("p1", "p0")])
def test_another_process_has_the_set_up(own: str, peer: str, run: Run, held: Any, tmp_path: Path) -> None:
    process = held(own, peer)
    said = rf"{own} keeping the lattice set-up with {peer}: '.*kept' is used by another run at this moment"
    with pytest.raises(LatticeError, match=said) as caught:
        run()
    assert "(setup_dir) is used by another run" in caught.value.peer_text
    assert str(tmp_path) not in caught.value.peer_text
    # The run that was refused has set up nothing.
    names = {path.name for path in (tmp_path / "kept").iterdir()}
    assert names.isdisjoint({FILES["the passive party's head"], FILES["the active party's columns"], FILES["seeds"]})
    # A process that is killed leaves nothing locked.
    process.kill()
    process.wait()
    assert blocks(run()) == 1


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_a_run_that_fails_leaves_the_set_up_to_the_next(error: Any, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*given: Any) -> None:
        raise error

    with monkeypatch.context() as patched:
        patched.setattr(passive, "find_own_winners", fail)
        with pytest.raises(BaseException) as caught:  # noqa: PT011 - whatever the simulation makes of it
            run()
    assert not isinstance(caught.value, LatticeError)
    assert blocks(run()) == 0
    with pytest.raises(ConsentError, match="at most 1 runs"):
        run(own={"max_runs": 1})
    assert blocks(run()) == 0


def flipped(path: Path) -> None:
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:20])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [flipped, cut, emptied])
@pytest.mark.parametrize("what", FILES)
def test_a_damaged_file_is_named(what: str, damage: Any, run: Run, tmp_path: Path) -> None:
    drawn = {"order_seed": None}
    run(own=drawn)
    path = tmp_path / "kept" / FILES[what]
    damage(path)
    if what == "seeds":
        if damage is emptied:
            return  # as long as nobody has set up there
        # The list is read when there is a new set-up.
        for head in (FILES["the passive party's head"], FILES["the active party's columns"]):
            (tmp_path / "kept" / head).unlink()
        if damage is flipped:
            path.write_bytes(path.read_bytes()[:-1] + b"x")
    with pytest.raises(FormatError) as caught:
        run(own=drawn)
    assert str(path) in str(caught.value)
    assert "remove" in str(caught.value)


@pytest.mark.parametrize("change", [{"rows": 200}, {"max_bin": 12}, {"seed": 1}, {"own": {"ring": "wide"}}])
def test_other_rows_or_bins_are_another_set_up(change: dict[str, Any], run: Run, model_of: Any) -> None:
    """Old columns never serve them: the model is that of a run without a kept set-up."""
    run()
    changed = run(**change)
    assert blocks(changed) >= 1
    assert model_of(changed) == model_of(run(kept=False, **change))
    assert blocks(run(**change)) == 0


@pytest.mark.parametrize("role", ["p0.p1", "p1.p0"])
def test_files_of_another_party_serve_nobody(role: str, run: Run, model_of: Any, tmp_path: Path) -> None:
    """The files of a set-up with p1 under the name of one with another party, and the other way round."""
    first = run()
    kept = tmp_path / "kept"
    stranger, swapped = kept / f"{role}.vfxgb-lattice", kept / f"{'.'.join(reversed(role.split('.')))}.vfxgb-lattice"
    shutil.copy(swapped, stranger)
    with pytest.raises(FormatError, match="is of another kind"):
        run()
    stranger.unlink()
    again = run()
    assert blocks(again) == 1
    assert model_of(again) == model_of(first)


def test_a_full_disk_names_the_file_and_a_later_run_goes_on(
    run: Run, model_of: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At every second write of a run in turn."""
    real, writes = files.os.fsync, [0, 0]

    def full(descriptor: int) -> None:
        writes[0] += 1
        if writes[0] == writes[1]:
            raise OSError(errno.ENOSPC, "No space left on device")
        real(descriptor)

    named: list[tuple[int | None, Path]] = []
    wanted, done = model_of(run(kept=False)), False
    while not done:
        writes[:] = [0, writes[1] + 2]
        monkeypatch.setattr(files.os, "fsync", full)
        try:
            assert model_of(run()) == wanted
            done = True
        except OSError as error:
            named.append((error.errno, Path(error.filename).parent))
        # What was begun is taken up, or begun anew where nothing of use is there.
        monkeypatch.setattr(files.os, "fsync", real)
        if len(named) % 3 == 1:
            assert model_of(run()) == wanted
            shutil.rmtree(tmp_path / "kept")
            (tmp_path / "kept").mkdir()
    assert len(named) >= 4
    assert set(named) == {(errno.ENOSPC, tmp_path / "kept")}
    # Nothing half-written is left; files that are locked stay.
    hidden = [path.name for path in (tmp_path / "kept").iterdir() if path.name.startswith(".")]
    assert all(name.endswith(".lock") for name in hidden)


def test_a_folder_that_is_not_there(run: Run, tmp_path: Path) -> None:
    with pytest.raises(
        LatticeError, match=r"p1 keeping the lattice set-up with p0: found no folder '/.*none'"
    ) as caught:
        run(own={"setup_dir": str(tmp_path / "none")})
    assert str(tmp_path) not in caught.value.peer_text


def test_wins_of_all_runs_add_up(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "kept" / FILES["wins"]
    totals = []
    for seed in (0, 0, 1):
        run(seed=seed)
        totals.append(read_wins(path, "p1").wins)
    assert totals[1] == 2 * totals[0]
    assert totals[2] > totals[1]
    assert len(read_wins(path, "p1").runs) == 3

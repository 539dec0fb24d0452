"""Limits on what may be won under `sealed`: wins beyond them are withheld, and training goes on."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from protocol_variants import params_of
from simulated_runs import fit_tables
from vfxgb import _native
from vfxgb.audit.auditor import view_of
from vfxgb.audit.row_comparisons import told_by
from vfxgb.audit.truth import Truth
from vfxgb.errors import ConsentError, FormatError, MessageError
from vfxgb.protocols.sealed.kept import read_wins
from vfxgb.train.simulate import FitResult

DEEP = {"n_estimators": 6, "score_bits": 16, "split_rule": "centred"}


def run(
    make_problem: Any, rows: int = 220, case: str = "deep", parties: int = 2, mixed: bool = False, **own: Any
) -> FitResult:
    """`mixed`: the training rows are in another order."""
    problem = make_problem(case, **DEEP)
    if mixed:
        order = np.concatenate([np.random.default_rng(1).permutation(rows), np.arange(rows, len(problem.y))])
        problem = replace(problem, X=problem.X[order], y=problem.y[order])
    return fit_tables(
        problem.tables(parties),
        "p0",
        problem.y,
        None,
        rows,
        problem.params,
        protocol="sealed",
        protocol_params={**params_of("sealed"), **own},
        evals=[("valid", slice(rows, 300))],
        record=True,
    )


def winners(result: FitResult, party: str) -> list[tuple[int, ...]]:
    """All splits that a party has won, told or not."""
    assert result.transcript is not None
    splits = Truth(result.transcript).cuts()[party].splits
    return [tuple(split) for chosen in splits.values() for split in chosen.tolist()]


def levels_within(result: FitResult, most: int) -> list[list[tuple[int, ...]]]:
    """What p1 has won level by level, of the first levels with at most so many wins together."""
    assert result.transcript is not None
    levels, count = [], 0
    for chosen in Truth(result.transcript).cuts()["p1"].splits.values():
        count += len(chosen)
        if count > most:
            break
        levels.append(sorted(tuple(split) for split in chosen.tolist()))
    return levels


def told(result: FitResult, party: str) -> int:
    """How many of them the active party has learnt the rows of."""
    transcript = result.transcript
    assert transcript is not None
    return len(told_by(view_of(transcript, "p0", Truth(transcript)), party).sides)


def withheld_lines(result: FitResult) -> list[str]:
    return [note for note in result.ledger.notes if "withheld the rows" in note or "did not tell the rows" in note]


def test_wins_beyond_a_limit_are_withheld(make_problem, model_of) -> None:
    free, limited = run(make_problem), run(make_problem, max_wins=30)
    assert told(free, "p1") == len(winners(free, "p1")) > 40
    assert told(limited, "p1") == 30
    beyond = len(winners(limited, "p1")) - 30
    assert withheld_lines(free) == []
    active, passive = withheld_lines(limited)
    assert f"p1 withheld the rows of {beyond:,} of its winning splits" in active
    assert f"p1 did not tell the rows of {beyond:,} of its winning splits, which were beyond max_wins" in passive
    # Training went on, with splits of the active party in the place of those that were withheld.
    assert len(limited.active_share.trees) == 6
    records = limited.passive_shares["p1"].records
    assert 0 < len(records) <= 30
    assert model_of(limited) != model_of(free)
    # Until the limit was reached nothing differs; slots of a level are in an order that is drawn for each run.
    assert levels_within(limited, 30) == levels_within(free, 30) != []


def test_different_columns_beyond_a_share_are_withheld(make_problem) -> None:
    free, limited = run(make_problem), run(make_problem, max_won_columns=0.05)
    every = set(winners(free, "p1"))
    transcript = limited.transcript
    assert transcript is not None
    view = view_of(transcript, "p0", Truth(transcript))
    cuts = Truth(transcript).cuts()["p1"]
    shown = {tuple(cuts.splits[place[:3]][place[3]].tolist()) for place in told_by(view, "p1").places}
    assert len(shown) == int(0.05 * candidates(limited)) < len(every)
    # Columns that were told before win on.
    assert told(limited, "p1") > len(shown)
    assert "max_won_columns" in withheld_lines(limited)[1]


def candidates(result: FitResult) -> int:
    """How many candidate splits p1 has."""
    assert result.transcript is not None
    truth = Truth(result.transcript)
    listed = _native.gbdt.candidates(
        np.ascontiguousarray(truth.note("p1", "n-bins")), np.ascontiguousarray(truth.note("p1", "has-missing"))
    )
    return len(listed[0])


@pytest.mark.parametrize("parties", [2, 3])
def test_limits_that_are_not_reached_change_nothing(parties, make_problem, model_of) -> None:
    limited = run(make_problem, case="missing", parties=parties, max_wins=10_000, max_won_columns=1.0, max_runs=9)
    assert model_of(limited) == model_of(run(make_problem, case="missing", parties=parties))


def test_each_of_several_parties_has_its_own(make_problem) -> None:
    limited = run(make_problem, parties=3, max_wins=5)
    assert [told(limited, party) for party in ("p1", "p2")] == [5, 5]


def test_a_record_counts_over_runs(make_problem, tmp_path) -> None:
    own: dict[str, Any] = {"setup_dir": str(tmp_path), "order_seed": None}
    first = run(make_problem, **own)
    wins = len(winners(first, "p1"))
    (path,) = tmp_path.glob("*-wins")
    assert read_wins(path, "p1").wins == wins
    second = run(make_problem, max_wins=wins + 7, **own)
    assert told(second, "p1") == 7
    with pytest.raises(ConsentError, match=r"p1 tells .* in at most 2 runs \(max_runs\), and this would be number 3"):
        run(make_problem, max_runs=2, **own)


def test_other_rows_in_between_do_not_clear_the_record(make_problem, tmp_path) -> None:
    """Columns are known by their cuts and counts: no order of them is a way around the limit, nor are other rows."""
    own: dict[str, Any] = {"setup_dir": str(tmp_path)}
    run(make_problem, max_won_columns=0.05, order_seed=1, **own)
    run(make_problem, rows=210, max_won_columns=0.05, order_seed=1, **own)
    (path,) = tmp_path.glob("*-wins")
    before = read_wins(path, "p1")
    assert len(before.columns) == 2
    run(make_problem, max_won_columns=0.05, order_seed=2, **own)
    assert read_wins(path, "p1").columns == before.columns


def test_another_order_of_rows_is_no_way_around_a_limit(make_problem, tmp_path) -> None:
    """Between processes each run has an order of rows of its own."""
    own: dict[str, Any] = {"setup_dir": str(tmp_path), "max_won_columns": 0.05}
    run(make_problem, **own)
    (path,) = tmp_path.glob("*-wins")
    before = read_wins(path, "p1")
    run(make_problem, mixed=True, **own)
    after = read_wins(path, "p1")
    assert len(before.columns) == 1
    assert (after.columns, len(after.runs)) == (before.columns, 2)


def test_a_damaged_record_is_refused(make_problem, tmp_path) -> None:
    own: dict[str, Any] = {"setup_dir": str(tmp_path)}
    run(make_problem, **own)
    (path,) = tmp_path.glob("*-wins")
    path.write_bytes(path.read_bytes()[:-3])
    with pytest.raises(FormatError, match="no record of what was won"):
        run(make_problem, **own)


def test_a_split_that_was_withheld_is_never_filed(make_problem, monkeypatch) -> None:
    """An active party that keeps it all the same could ask for its rows in a prediction."""
    from vfxgb.protocols.sealed.active import SealedActive

    def greedy(self: Any, *given: Any) -> Any:
        left = real(self, *given)
        left.gain[:] = 1e9
        return left

    real = SealedActive._left
    monkeypatch.setattr(SealedActive, "_left", greedy)
    with pytest.raises(MessageError, match="p1 placing splits of tree 0: found a split that this party has withheld"):
        run(make_problem, max_wins=1)


def test_the_folder_of_the_record_must_be_there(make_problem, tmp_path) -> None:
    from vfxgb.errors import LatticeError

    with pytest.raises(LatticeError, match="found no folder"):
        run(make_problem, setup_dir=str(Path(tmp_path) / "none"))

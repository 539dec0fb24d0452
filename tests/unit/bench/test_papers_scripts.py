"""What the scripts of bench/papers share, and their own arithmetic, at the smallest sizes."""

import argparse
import dataclasses
import importlib
import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from vfxgb.errors import ParameterError

FOLDER = Path(__file__).resolve().parents[3] / "bench/papers"
Loader = Callable[[str], ModuleType]


@pytest.fixture(scope="module")
def load() -> Iterator[Loader]:
    """Import a file of the folder as its scripts do; afterwards nobody finds them under these short names."""
    sys.path.insert(0, str(FOLDER))
    yield importlib.import_module
    sys.path.remove(str(FOLDER))
    for path in FOLDER.glob("*.py"):
        sys.modules.pop(path.stem, None)


@pytest.fixture
def args(tmp_path: Path) -> argparse.Namespace:
    return argparse.Namespace(quick=False, threads=2, out=tmp_path)


def test_a_run_writes_markdown_json_and_a_plot(load: Loader, args: argparse.Namespace, tmp_path: Path) -> None:
    common = load("common")
    run = common.Run("fake", "A title", "table 1 of papers/999", args, "About it.")
    run.use("some rows")
    run.use("some rows")
    run.set(depth=3, keys=[512, 2048], shift={"alpha": 20.0})
    run.table("Table 1", ["method", "AUC"], [["plain", "0.9"]])
    with run.plot("fake_one", 1, 2) as axes:
        axes[0][1].plot([1, 2], [3, 4], **common.line_style(11))
    run.found("It is better.", False, "It is not (E28).")
    run.found("It is fast.", "hardly", "By a hair.")
    run.write({"cells": {"a": 1}})
    text = (tmp_path / "fake.md").read_text()
    for wanted in (
        "# A title\n\nWritten by `vfxgb bench papers fake`: table 1 of papers/999. Raw numbers: ",
        ": [fake.json](fake.json).\n\nAbout it.\n",
        "| data | some rows |\n| settings | threads 2, seeds 1, depth 3, keys 512/2,048, shift (alpha 20.0) |",
        "## Table 1\n\n| method | AUC |\n|---|---:|\n| plain | 0.9 |\n",
        "![A title](fake_one.png)",
        "## What reproduces, and what does not\n\n- *It is better.* **No.** It is not (E28).\n",
        "- *It is fast.* **Hardly.** By a hair.\n\nPoints E1, E2, ... are those of docs/errata.md.\n",
    ):
        assert wanted in text
    document = json.loads((tmp_path / "fake.json").read_text())
    assert document["cells"] == {"a": 1}
    assert (document["name"], document["quick"], document["data"]) == ("fake", False, ["some rows"])
    assert document["machine"]["xgboost"]
    assert (document["seeds"], document["finished"]) == ([0], True)
    assert {"commit", "load average", "load average afterwards"} <= set(document["machine"])
    assert common.read_document(tmp_path, "fake") == document
    assert (tmp_path / "fake_one.png").read_bytes().startswith(b"\x89PNG")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["fake.json", "fake.md", "fake_one.png"]


def test_a_quick_run_says_so(load: Loader, args: argparse.Namespace) -> None:
    args.quick = True
    run = load("common").Run("fake", "A title", "table 1", args)
    text = run.markdown(run.document({}))
    assert "`vfxgb bench papers fake --quick`" in text
    assert "nothing follows from these numbers" in text
    assert "What reproduces" not in text


def test_a_plot_that_fails_leaves_no_file(load: Loader, args: argparse.Namespace, tmp_path: Path) -> None:
    import matplotlib.pyplot as plt

    run = load("common").Run("fake", "A title", "table 1", args)
    with pytest.raises(ZeroDivisionError), run.plot("fake", 1, 1):
        raise ZeroDivisionError
    assert list(tmp_path.iterdir()) == []
    assert plt.get_fignums() == []


def test_arguments_and_where_results_go(load: Loader, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    common = load("common")
    monkeypatch.chdir(tmp_path)
    arguments = common.parse(common.parser("about", seeds=4), ["--quick"])
    assert (arguments.out, arguments.seeds, arguments.threads) == (Path("vfxgb-papers"), 4, 2)
    assert (tmp_path / "vfxgb-papers").is_dir()
    monkeypatch.setattr(common, "missing_packages", lambda: ["matplotlib"])
    with pytest.raises(SystemExit, match=r"^matplotlib missing: pip install 'vfxgb\[bench\]'$"):
        common.parse(common.parser("about"), ["--quick"])


def test_mistakes_and_interruptions_are_one_line(load: Loader, capsys: pytest.CaptureFixture[str]) -> None:
    def raises(error: BaseException) -> Callable[[], int]:
        def main() -> int:
            raise error

        return main

    guarded = load("common").guarded
    assert guarded(lambda: 0) == 0
    assert guarded(raises(KeyboardInterrupt())) == 130
    assert guarded(raises(ParameterError("found 1, wanted 2"))) == 2
    assert capsys.readouterr().err == "interrupted\nfound 1, wanted 2\n"


def test_steps_say_how_long_is_left(load: Loader, capsys: pytest.CaptureFixture[str]) -> None:
    steps = load("common").Steps(4)
    steps.begin("first", 3)
    steps.begin("second")
    assert capsys.readouterr().err.splitlines() == ["    0% first ...", "   75% second ..., about 0 s left"]
    side_by_side = load("common").Steps(4)
    side_by_side.finish("one", 1)
    side_by_side.finish("two", 3)
    assert [line[:11] for line in capsys.readouterr().err.splitlines()] == ["   25% one ", "  100% two "]
    assert [load("common").duration(seconds) for seconds in (99.6, 119.4, 150.0)] == ["100 s", "119 s", "2 min"]


def test_tables_are_generated_where_there_are_none(load: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VFXGB_DATA", raising=False)
    data = load("batch_he_data")
    parts = data.split("default_credit", 50)
    assert parts.train.X.shape == (50, 23)
    assert len(parts.test.y) == data.TEST_ROWS["default_credit"]
    assert "in place of default_credit" in parts.train.source
    adult = load("fedxgb_accuracy").load("adult", quick=True)
    assert (adult.X.shape, adult.X_test.shape, set(adult.y)) == ((3_000, 14), (1_000, 14), {0, 1})
    assert adult.source.startswith("generated table in place of adult")


def test_splits_of_the_papers_sizes(load: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VFXGB_DATA", raising=False)
    data = load("batch_he_data")
    whole = load("common").rows_of("default_credit")
    one, again, other = (data.paper_split("default_credit", seed) for seed in (0, 0, 1))
    assert (one.train.X.shape, one.test.X.shape, one.train.n_active) == ((18_300, 23), (5_699, 23), 5)
    assert np.array_equal(one.train.X, again.train.X)
    assert not np.array_equal(one.train.X, other.train.X)
    # The first of the passive party's columns are the active one's here.
    sorted_rows = np.sort(np.concatenate([one.train.X, one.test.X])[:, 0])
    assert np.isin(sorted_rows, whole.X[:, whole.n_active]).all()
    assert data.column_names("give_credit") == [f"column {place}" for place in range(10)]


def test_columns_are_chosen_with_their_owners(load: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VFXGB_DATA", raising=False)
    common = load("common")
    data = common.rows_of("give_credit", 20)
    part = common.choose_columns(data, [0, 3, 5, 9])
    assert part.n_active == 2
    assert np.array_equal(part.X, data.X[:, [0, 3, 5, 9]])


def test_gaps_are_between_means_over_seeds_and_the_paper(load: Loader) -> None:
    gap = load("batch_he_gap")
    table_iv, table_iii = np.full((2, 4), 0.5), np.full(4, 0.7)
    seeds = {
        "default_credit": [np.full((2, 4), 0.6), np.full((2, 4), 0.8)],
        "give_credit": [table_iii, table_iii + 0.2],
    }
    (found,) = gap.gaps({"one": seeds}, table_iv, table_iii).values()
    assert found == (pytest.approx(0.2), pytest.approx(0.1))


def test_the_finest_shift_holds_all_rows_of_a_case(load: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VFXGB_DATA", raising=False)
    batch_he, data = load("batch_he"), load("common").rows_of("default_credit", 400)
    case = batch_he.Case("", load("batch_he_data").Split(data, data), 2, 256, batch_he.DEFAULT_SHIFT)
    chosen = batch_he.finest_shift(case)
    assert (chosen["s"], chosen["s_h"], chosen["alpha"], chosen["r"]) == (-1.0, 0.0, 2.0, 30)
    assert chosen["alpha_max"] == pytest.approx(400 * 2.0 / 3, rel=1e-6)
    assert batch_he.fit(case, 1, "batch_he", {"key_bits": 256, "insecure": True, "encoding": "shift", **chosen}, None)


def test_trainings_over_users_have_a_twin_that_nobody_hides(load: Loader) -> None:
    accuracy = load("fedxgb_accuracy")
    curve = {"accuracy": [0.8, 0.9], "loss": [0.3, 0.2]}
    known = {"adult|0|0": curve, "adult|plain|0": dict(curve), "adult|0.3|0": curve, "adult|xgboost|0": curve}
    assert accuracy.same_curves(known, "adult")
    assert accuracy.kinds_of(known, "adult") == ["0", "0.3"]
    known["adult|plain|0"]["loss"] = [0.3, 0.21]
    assert not accuracy.same_curves(known, "adult")
    masked, plain = (
        accuracy.Training("adult", kind, 0, accuracy.TASKS["adult"], "masks", True) for kind in ("0", "plain")
    )
    assert masked.key == "adult|0|0"
    assert masked.cost > 10 * plain.cost


def test_figure_4_has_a_panel_for_each_table(load: Loader, args: argparse.Namespace, tmp_path: Path) -> None:
    accuracy, common = load("fedxgb_accuracy"), load("common")
    run = common.Run("fake", "A title", "figure 4", args)
    curve = {"accuracy": [0.8, 0.9], "loss": [0.3, 0.2]}
    tasks = {name: dataclasses.asdict(task) for name, task in accuracy.TASKS.items()}
    runs = {f"{name}|{kind}|0": curve for name in tasks for kind in ("xgboost", "plain", "0", "0.3")}
    accuracy.report(run, {"tasks": tasks, "runs": runs})
    assert (tmp_path / "fedxgb_accuracy.png").is_file()
    text = run.markdown(run.document({}))
    assert "## a9a: 50 users, 100 rounds of depth 5, learning rate 0.1, 2 bins" in text
    assert "**Yes.** Without drops accuracy and loss after every round are those" in text


def test_a_training_with_many_users_has_the_curve_of_its_twin(
    load: Loader, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("VFXGB_DATA", raising=False)
    training = load("fedxgb_training")
    monkeypatch.setattr(training, "QUICK_USERS", 6)
    assert training.main(["--quick", "--threads", "1", "--out", str(tmp_path)]) == 0
    results = json.loads((tmp_path / "fedxgb_training.json").read_text())["results"]
    assert results["masks"]["log"] == results["plain"]["log"]
    assert results["masks"]["bytes"] > results["plain"]["bytes"]
    assert {"share", "mask", "unmask"} <= set(results["masks"]["at users"])
    assert "*The model is that of sums that nobody hides.* **Yes.**" in capsys.readouterr().out


def test_users_vectors_add_up_to_the_sums_of_the_table(load: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VFXGB_DATA", raising=False)
    rows = load("fedxgb_stages").dealt(load("common").rows_of("adult", 300), users=7)
    sums = np.sum([rows.vector(user) for user in range(7)], axis=0)
    assert len(sums) == rows.entries == 2 * (1 + 14 * 31)
    assert list(sums[:2]) == list(rows.pairs.sum(axis=0))
    left = sums[2:].reshape(2, 14, 31)
    for which, feature, cut in ((0, 0, 0), (1, 13, 30), (0, 5, 17)):
        assert left[which, feature, cut] == rows.pairs[rows.bins[:, feature] <= cut, which].sum()


def test_stages_add_up_to_the_total(load: Loader) -> None:
    result = dict.fromkeys(("user seconds", "server seconds", "user sent", "user received"), 4e6)
    result |= dict.fromkeys(("server sent", "server received"), 5e6)
    result |= dict.fromkeys(("user seconds of keys", "server seconds of keys"), 1e6)
    result |= dict.fromkeys(("user bytes of keys", "server bytes of keys"), 3e6)
    stages = load("fedxgb_stages").stage_costs(result)
    assert stages["split finding"] == {"user s": 3e6, "server s": 3e6, "user MB": 5.0, "server MB": 7.0}
    assert stages["total"]["server MB"] == 10.0


def test_batched_encryption_is_measured_after_each_tree(load: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VFXGB_DATA", raising=False)
    speed = load("batch_he_speed")
    data = load("common").rows_of("default_credit", 300)
    first, second = speed.run_point(speed.Point("", data, 128, 2), 1, at=(1, 2))
    assert (first["trees"], second["trees"], second["rows"], second["key_bits"]) == (1, 2, 300, 128)
    for kind in speed.KINDS:
        assert 0 < first[kind]["total"] < second[kind]["total"]
        assert 0 < second[kind]["per tree"] * 2 <= second[kind]["total"]
    assert 0.5 < speed.ratio(second, "MB per tree") < 0.9  # cut points and sums are sent as well
    assert [speed.trend(0.6, last) for last in (0.5, 0.58, 0.6)] == ["yes", "hardly", "no"]


def test_repeated_measurements_become_means_and_spreads(load: Loader) -> None:
    speed = load("batch_he_speed")

    def figures(batch: float) -> dict[str, object]:
        times = {"non-batch": {"total CPU": 10.0}, "batch": {"total CPU": batch}}
        return {"4": {"axis": "bits", "points": {"128": {"rows": 5, **times}}}}

    entry = speed.mean_of([figures(5.0), figures(7.0)])["4"]["points"]["128"]
    assert (entry["rows"], entry["batch"], entry["ratios"]) == (5, {"total CPU": 6.0}, {"total CPU": [0.5, 0.7]})
    assert speed.spread(entry, "total CPU") == "50% to 70%"


def test_cells_are_removed_at_the_rate_and_high_ones_more_often(load: Loader) -> None:
    missing = load("missing")
    rng = np.random.default_rng(0)
    X = np.stack([rng.normal(size=4000), rng.integers(0, 2, 4000)], axis=1).astype(np.float32)
    for kind in (missing.AT_RANDOM, missing.HIGH_ONES):
        gone = np.isnan(missing.without_cells(X, missing.Gaps(kind, 0.3), 0))
        assert np.abs(gone.mean(axis=0) - 0.3).max() < 0.03
        low, high = (gone[X[:, 0] < 0, 0].mean(), gone[X[:, 0] >= 0, 0].mean())
        assert (high - low > 0.2) == (kind == missing.HIGH_ONES)
        again = missing.without_cells(X, missing.Gaps(kind, 0.3), 0)
        assert np.array_equal(np.isnan(again), gone)
    assert not np.isnan(missing.without_cells(X, missing.Gaps(missing.NATURAL, 0.0), 0)).any()


def test_verdicts_on_missing_values_follow_the_numbers(load: Loader) -> None:
    missing = load("missing")
    auc = {"learned": 0.80, "mean": 0.79, "median": 0.79, "mode": 0.78, "regression": 0.81}
    auc |= {"probabilistic": 0.82, "conditional": 0.8205}
    by_way = {way: [{"auc": value, "logloss": 1 - value}] * 2 for way, value in auc.items()}
    gaps = [one.name for one in missing.cases(False)]
    results = {"adult": dict.fromkeys(gaps, by_way)}
    assert len(gaps) == 7
    assert missing.compared(results, "regression", "learned")[:3] == (7, 0, 7)
    assert missing.answer(results, "probabilistic", "learned") is True
    assert missing.answer(results, "mean", "learned") is False
    # Too little to count.
    assert missing.compared(results, "conditional", "probabilistic")[:2] == (0, 0)
    assert missing.answer(results, "conditional", "probabilistic") is False
    assert missing.best(results, missing.AT_RANDOM) == "conditional"


def test_purity_of_the_leaves_that_a_party_knows(load: Loader) -> None:
    secureboost = load("secureboost")
    labels, leaves = np.array([0, 0, 1, 1, 1, 0], np.float32), np.array([1, 1, 1, 2, 2, 3], np.int32)
    known = np.array([False, True, True, False])
    assert secureboost.purity_of(labels, leaves, known) == (pytest.approx(5 / 6), pytest.approx(4 / 5))
    assert secureboost.purity_of(labels, leaves, np.zeros(4, bool))[0] == 0.0


def test_the_first_tree_says_its_purity_by_the_corrected_formula(load: Loader, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VFXGB_DATA", raising=False)
    secureboost = load("secureboost")
    data = secureboost.draw("adult", 400, 0)
    found = secureboost.first_tree(2, data, 1)
    assert found["corrected"] == pytest.approx(found["counted"], abs=1e-6)
    assert found["corrected_off"] < 1e-6 < 1e-2 < found["printed_off"]
    assert 0.0 < found["left"] < 1.0
    one, two = (secureboost.fit(data, "plain", {}, 2, 1, random_state=0) for _ in range(2))
    assert secureboost.same_model(one, two)
    assert not secureboost.same_model(one, secureboost.fit(data, "plain", {}, 3, 1))

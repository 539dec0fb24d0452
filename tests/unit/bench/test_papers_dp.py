"""The scripts of papers/000 and papers/002: calibrations, attackers, tables, and the answers they draw from numbers.

What they measure is measured by running them; here are known answers, small runs, and whether a conclusion turns when
the numbers do.
"""

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[3]
PAPERS = ROOT / "bench/papers"
pytest.importorskip("matplotlib", reason="the scripts draw")
pytest.importorskip("xgboost", reason="the scripts compare")
sys.path.insert(0, str(PAPERS))

import attacked  # noqa: E402 - the folder of the scripts is not a package
import cells  # noqa: E402
import common  # noqa: E402
import competitors  # noqa: E402
import dp  # noqa: E402
import fedxgboost_loss  # noqa: E402
import fedxgboost_time  # noqa: E402
import masked_ablation  # noqa: E402
import masked_labels  # noqa: E402
import masked_splits  # noqa: E402
import masked_sums  # noqa: E402
import masked_theorem3  # noqa: E402
import masked_time  # noqa: E402
import masked_training  # noqa: E402
import trained  # noqa: E402

from vfxgb.audit.attacks import masked_likelihood  # noqa: E402
from vfxgb.bench.datasets import generate  # noqa: E402
from vfxgb.errors import ProtocolParameterError  # noqa: E402
from vfxgb.protocols.masked.calibration import theorem2_right  # noqa: E402
from vfxgb.protocols.masked.passive import MaskedPassive  # noqa: E402

SIGMA2 = 1e4

SCRIPTS = (
    dp,
    fedxgboost_loss,
    fedxgboost_time,
    masked_ablation,
    masked_labels,
    masked_splits,
    masked_theorem3,
    masked_time,
    masked_training,
)


@pytest.fixture
def run(tmp_path: Path) -> common.Run:
    args = argparse.Namespace(quick=True, out=tmp_path, threads=1)
    return common.Run("name", "Title", "figure 1", args)


def findings(run: common.Run) -> list[str]:
    """The lines of "What reproduces, and what does not"."""
    text = run.markdown(run.document({}))
    return [line for line in text.split("## What reproduces")[1].splitlines() if line.startswith("- ")]


def test_every_script_says_how_long_it_takes_and_which_figure_it_makes() -> None:
    for script in SCRIPTS:
        quick, full = script.MINUTES
        assert 0 < quick <= full
        assert "papers/00" in (script.__doc__ or "").splitlines()[0]
    assert sum(script.MINUTES[0] for script in SCRIPTS) < 7


def test_noise_for_one_row_is_just_enough_for_it() -> None:
    rows, left, epsilon = 400, 200, 2.0
    params = competitors.masked_per_row(epsilon, rows)
    a, b = params["sigma1"] ** 2, params["sigma2"] ** 2
    covariance = (2 * a + b) * np.eye(rows)
    for i in range(left):
        covariance[i, (i + 1) % left] -= a
        covariance[(i + 1) % left, i] -= a
    moved = 4.0 * np.diag(np.linalg.inv(covariance))  # mu = 2
    allowed = theorem2_right(epsilon, competitors.DELTA)
    assert moved.max() <= allowed * (1 + 1e-9)
    assert moved.max() > 0.99 * allowed


def test_theorem_2_asks_for_more_noise_and_a_looser_passive_budget_for_less() -> None:
    whole, row = competitors.masked_whole(1.0, 5_000), competitors.masked_per_row(1.0, 5_000)
    assert competitors.noise_of_sum(whole, 2_500) > 30 * competitors.noise_of_sum(row, 2_500)
    assert competitors.noise_of_sum(whole, 2_500) > 2_500  # no sum of so many gradients is as large
    for calibrated in (competitors.masked_whole, competitors.masked_per_row):
        assert calibrated(1.0, 5_000, 8.0)["sigma2"] < calibrated(1.0, 5_000, 1.0)["sigma2"]


def test_rows_are_drawn_once_and_test_rows_are_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VFXGB_DATA", raising=False)
    first, again = trained.part("default_credit", 600), trained.part("default_credit", 600)
    assert np.array_equal(first.train.X, again.train.X)
    assert (len(first.train.y), len(first.test.y)) == (600, 300)
    assert not {row.tobytes() for row in first.train.X} & {row.tobytes() for row in first.test.X}
    assert "in place of default_credit" in first.train.source


def test_curves_and_times_of_a_small_training() -> None:
    data = generate(300, (2, 2))
    both = trained.Part(data, data)
    curves = trained.curves(both, "plain", {}, 4, 0, 1)
    assert 0 < curves["passive_splits"] < 1
    assert len(curves["auc"]) == len(curves["logloss"]) == 4
    assert curves["logloss"][-1] < curves["logloss"][0]
    times = trained.time_per_tree(data, "plain", {}, 3, 1)
    assert times["seconds"] > 0
    assert times["cpu"] > 0
    assert times["megabytes"] > 0


def test_attackers_that_know_the_noise_find_every_label_and_the_report_says_so(run: common.Run, tmp_path: Path) -> None:
    results, networks = masked_labels.measure(["generated"], 200, (0.5,), (1e-3,), 1, tmp_path, 1)
    cell = results["generated"]["theorem 2|0.5|0.001"]
    assert set(cell) == set(masked_labels.ATTACKS)
    assert all(cell[attack] == [1.0] for attack in masked_labels.ATTACKS if attack != masked_labels.NETWORK)
    assert len(networks) == 2
    assert all("converged after" in text for text in networks)
    masked_labels.conclude(run, results)
    assert "*So the labels are safe.* **No.**" in findings(run)[1]
    assert len(masked_labels.accuracy_rows(results["generated"])) == len(results["generated"])


def test_balanced_accuracy_does_not_reward_the_commoner_label() -> None:
    truth = np.array([True] + [False] * 9)
    assert attacked.balanced_accuracy(np.zeros(10, dtype=bool), truth) == 0.5
    assert attacked.balanced_accuracy(truth, truth) == 1.0
    assert attacked.balanced_accuracy(truth[1:], truth[1:]) == 1.0


def test_the_smallest_sum_has_the_size_asked_for_and_is_small() -> None:
    random = np.random.default_rng(1)
    noise = random.normal(size=200)
    chosen = masked_splits.smallest_sum(noise, 90, random)
    assert chosen.sum() == 90
    assert abs(noise[chosen].sum()) < 0.01
    assert masked_splits.smallest_sum(noise, 0, random).sum() == 0
    assert masked_splits.smallest_sum(noise, 200, random).all()


def test_likelihood_finds_candidates_where_little_noise_remains(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(masked_likelihood, "CANDIDATES", 2)
    open_ = masked_splits.budgets(30_000, (1.0,), (1.0,))
    example = masked_splits.attack(attacked.record(generate(120, (2, 2)), open_["example 2|"], 60, 4, 1))
    assert example["likelihood"] > 0.8
    assert abs(example["smallest sum"] - example["chance"]) < 0.15
    assert masked_splits.ratio(open_["1|1"]) < 0.04


def test_theorem_3_is_true_at_1_and_false_at_8() -> None:
    known = masked_theorem3.limits((1.0, 8.0), (3, 64))
    assert known["1"]["violated"] < 1 < known["8"]["violated"]
    assert known["1"]["bound"] == pytest.approx(0.033, abs=0.001)
    assert known["8"]["used"] == pytest.approx(known["8"]["exact"], rel=0.01)


def test_a_script_writes_its_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert masked_theorem3.main(["--quick", "--out", str(tmp_path)]) == 0
    document = json.loads((tmp_path / "masked_theorem3.json").read_text("utf-8"))
    assert document["quick"] is True
    assert document["paper"] == "figure 10 of papers/002"
    assert len(document["delta"]["1"]["bound"]) == len(document["ratios"])
    text = (tmp_path / "masked_theorem3.md").read_text("utf-8")
    assert text in capsys.readouterr().out
    assert "## What reproduces, and what does not" in text
    assert (tmp_path / "masked_theorem3.png").stat().st_size > 1000


def test_appendix_f_is_what_its_formulas_give() -> None:
    assert [row[1:] for row in masked_time.example_rows()] == [
        ["0.016 MB", "16 KB"],
        ["1.280 MB", "1.2 MB"],
        ["2.114 MB", "2.1 MB"],
    ]


def times(seconds: dict[str, float], megabytes: dict[str, float] | None = None) -> dict[str, Any]:
    sent = megabytes or {}
    return {name: {"seconds": 2 * s, "cpu": s, "megabytes": sent.get(name, 1.0)} for name, s in seconds.items()}


def test_table_3_next_to_the_papers(run: common.Run) -> None:
    seconds = dict(masked_time.PAPER["adult"]) | {masked_time.BATCHED: 2.0}
    results = {"adult": times(seconds, {masked_time.MASKED: 40.0})}
    rows = masked_time.time_rows(results)
    assert all(row[4] == row[6] for row in rows if row[5])  # ours are the paper's, so the ratios are
    masked_time.conclude(run, results)
    faster, slower, smaller = findings(run)
    assert "**Yes.** adult: 4.8 times here, 4.8 there" in faster
    assert "**Yes.** 10 to 10 times plain" in slower
    assert "**No.** Per tree it sends 40 to 40 times" in smaller


def test_tables_1_and_2_next_to_the_papers(run: common.Run) -> None:
    printed = fedxgboost_time.PAPER["give_credit"]
    extra = {"Paillier, batched": 500.0, "labels once, epsilon 1": 250.0, "SMM-1": 1000.0, "SMM-2": 100.0}
    extra |= {"SMM-2, dummies as printed": 100.0}
    extra |= {f"{name}, small nodes encrypted": 750.0 for name in fedxgboost_time.SMM}
    results = {"give_credit": times({**printed, **extra})}
    rows = {row[0]: row for row in fedxgboost_time.table(results["give_credit"], printed)}
    assert rows["Paillier"][3] == rows["Paillier"][6] == "6.00"
    assert rows["SMM-1"][5:] == ["", ""]
    assert set(fedxgboost_time.methods(512)) == set(results["give_credit"])
    fedxgboost_time.conclude(run, results)
    noise, first, cipher, smm, _ = findings(run)
    assert "**Yes.** 0.78 to 1.04 times plain" in noise
    assert "**Yes.**" in first
    assert "**Yes.** By a factor of 6" in cipher
    assert "**In part.**" in smm
    assert "with small nodes encrypted, which takes 1.50 to 1.50 (SMM-1), 1.50 to 1.50 (SMM-2) of that time" in smm


def losses(last: float) -> list[list[float]]:
    return [[0.6, 0.5, last]]


@pytest.mark.parametrize(("noisy", "answer"), [(0.41, "Yes"), (1.5, "No")])
def test_conclusions_about_loss_turn_with_the_numbers(run: common.Run, noisy: float, answer: str) -> None:
    every = fedxgboost_loss.lines()
    line = {name: losses(noisy if name.startswith(("LM", "DM")) and "printed" not in name else 0.4) for name in every}
    fedxgboost_loss.conclude(run, {"give_credit": line, "default_credit": line})
    assert f"*Noise costs little, and losses fall as without it.* **{answer}.**" in findings(run)[0]
    assert "**Yes.**" in findings(run)[1]
    assert {fedxgboost_loss.style(name)["color"] for name in every if name.startswith("labels")} == {"#E69F00"}


@pytest.mark.parametrize(("high", "answer"), [(0.9, "Yes"), (0.7, "No")])
def test_conclusions_about_training_turn_with_the_numbers(run: common.Run, high: float, answer: str) -> None:
    results = {
        "adult": {
            name: {"0.5": [[0.6, 0.7]], "8": [[0.6, high]]} if method.varies else {"0.5": [[0.6, 0.92]]}
            for name, method in masked_training.COMPARED.items()
        }
    }
    masked_training.conclude(run, results, (0.5, 8.0))
    assert f"(noise of each node).* **{answer}.**" in findings(run)[0]
    rows = masked_training.table(results["adult"], (0.5, 8.0))
    assert rows[0] == ["plain", "0.9200", "0.9200"]


@pytest.mark.parametrize(("high", "answer"), [(0.8, "Yes"), (0.7, "No")])
def test_conclusions_about_the_ablation_turn_with_the_numbers(run: common.Run, high: float, answer: str) -> None:
    curve = {"1": [[0.6] * 10 + [0.7]], "8": [[0.6] * 10 + [high]]}
    results = {"adult": dict.fromkeys(masked_ablation.READINGS, curve)}
    noises = masked_ablation.noise(1_000, (1.0, 8.0))
    masked_ablation.conclude(run, results, noises, (1.0, 8.0))
    assert f"(theorem 2).* **{answer}.**" in findings(run)[0]
    assert len(masked_ablation.noise_rows(noises, 1_000)) == 4


@pytest.mark.parametrize(("adapted", "answer"), [(0.8, "Yes"), (0.7, "No")])
def test_conclusions_about_adapted_noise_turn_with_the_numbers(run: common.Run, adapted: float, answer: str) -> None:
    known = {name: {"0.5": (0.6, 0.0, 5), "8": (0.7, 0.0, 5)} for name in competitors.METHODS}
    known["masked"] = {"0.5": (0.6, 0.0, 5), "8": (adapted, 0.0, 5)}
    whole = {name: {"8": (0.5 if name == "masked" else 0.6, 0.0, 5)} for name in competitors.WHOLE}
    dp.conclude(run, {"adult": known}, {"adult": whole})
    every = "\n".join(findings(run))
    assert f"*Noise adapted to nodes corrects errors (section 6.3), epsilon 8.* **{answer}.**" in every
    assert "by advanced composition (section 6.2).* **No.**" in every


def test_the_passive_partys_share_of_splits_is_told_for_masked(run: common.Run) -> None:
    shares = {"0.5": 0.2, "8": 0.7}
    measured = {f"adult|{dp.ROOT}|{e}|0": {"passive_splits": share} for e, share in shares.items()}
    measured |= {f"adult|ldp|{e}|0": {"passive_splits": 0.4} for e in shares}
    dp.passive_splits(run, measured)
    text = run.markdown(run.document({}))
    assert f"| adult | {dp.ROOT} | 0.20 | 0.70 |" in text
    assert "| ldp |" not in text
    assert "**Yes.** Its share of splits rises by +0.500 on adult" in text


def test_cells_name_every_training_and_what_does_not_vary_once() -> None:
    sizes = {"adult": competitors.Settings(1_000, 5, 10)}
    methods = {name: competitors.METHODS[name] for name in ("plain", "ldp", "masked")}
    asked = dict(dp.wanted(sizes, 1_000, methods, (1.0, 8.0), 2))
    assert list(asked) == [
        "adult|plain|1|0",
        *(f"adult|{name}|{epsilon}|{seed}" for name in ("ldp", "masked") for epsilon in (1, 8) for seed in (0, 1)),
    ]
    assert {one.protocol for key, one in asked.items() if "masked" in key} == {masked_sums.NAME}
    assert len(set(asked.values())) == len({one.key for one in asked.values()}) == 9
    own = dict(dp.itself({"adult": 500}, 5, 1))
    assert [one.protocol for one in own.values()] == ["masked", masked_sums.NAME]
    assert own["adult|itself|8|0"].cost > 5 * own["adult|sums|8|0"].cost


def test_figures_share_trainings() -> None:
    """Those of masked_training are among those of dp, so that they are not done again."""
    sizes = {"adult": competitors.Settings(1_000, 60, 10)}
    all_of_dp = set(dict(dp.wanted(sizes, None, competitors.METHODS, dp.EPSILONS, 5)).values())
    drawn = set(dict(dp.wanted(sizes, None, masked_training.COMPARED, masked_training.EPSILONS, 5)).values())
    assert drawn <= all_of_dp
    assert masked_training.TREES == 60


def test_what_is_kept_is_not_trained_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [cells.training("generated", 200, protocol, {}, 2, 0) for protocol in ("plain",)]
    asked.append(cells.training("generated", 200, "masked", {"insecure": True, "sigma2": 0.5}, 2, 0))
    first = cells.train(asked, tmp_path, 1)
    assert len(first[asked[0]]["auc"]) == 2
    monkeypatch.setattr(cells, "curves", lambda *args, **named: pytest.fail("trained again"))
    assert cells.train(asked, tmp_path, 1) == first
    with (tmp_path / cells.KEPT).open("a") as file:
        file.write('{"state": "broken o')
    assert cells.train(asked, tmp_path, 1) == first
    monkeypatch.setattr(cells, "state", lambda: "another commit")
    assert cells.kept(tmp_path) == {}


def test_two_processes_find_what_one_finds(tmp_path: Path) -> None:
    asked = [cells.training("generated", rows, "plain", {}, 2, 0) for rows in (200, 240)]
    auc = [
        {one.rows: found["auc"] for one, found in cells.train(asked, tmp_path / str(processes), processes).items()}
        for processes in (1, 2)
        if not (tmp_path / str(processes)).mkdir()
    ]
    assert auc[0] == auc[1]


def test_sums_without_noise_that_stays_give_the_trees_of_masked() -> None:
    data = generate(300, (2, 2))
    both = trained.Part(data, data)
    given = {"insecure": True, "sigma1": 1.0, "sigma2": 0.0}
    own, sums = (trained.curves(both, name, given, 3, 0, 1, max_depth=3) for name in ("masked", masked_sums.NAME))
    assert own["auc"] == sums["auc"]
    with pytest.raises(ProtocolParameterError, match="wanted W=1 and order=2"):
        trained.curves(both, masked_sums.NAME, {**given, "W": 2}, 1, 0, 1)


@pytest.mark.parametrize("scale", ["node", "root"])
def test_errors_of_sums_are_those_of_masked(scale: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Over kappa of its node and candidate, the error of every sum is standard normal, by the protocol and by its sums.

    Mean and variance within five standard errors; the errors of g and h of a candidate are equal but for their sign.
    """
    data = generate(400, (2, 2))
    for passive in (MaskedPassive, masked_sums.SumsPassive):
        ratios: list[np.ndarray] = []
        own = passive._left_sums

        def watched(self: Any, level: Any, index: int, own: Any = own, ratios: list[np.ndarray] = ratios) -> Any:
            sums = own(self, level, index)
            nodes = level.trees[index]
            built = np.ascontiguousarray(nodes.nodes[nodes.build])
            left, rows = self._counts(nodes, built)
            usable = self._available(nodes, built, left, rows) & (left > 0)
            C = rows / 400 if scale == "node" else np.ones_like(rows)
            kappa = SIGMA2 * np.sqrt(left * C)
            # The noise is far above any sum of gradients.
            ratios.append((sums * self.step)[usable] / kappa[usable][:, None])
            return sums

        monkeypatch.setattr(passive, "_left_sums", watched)
        name = "masked" if passive is MaskedPassive else masked_sums.NAME
        given = {"insecure": True, "sigma1": 1e3, "sigma2": SIGMA2, "noise_scale": scale}
        model = trained.model_of(data, name, given, 4, 1, max_depth=3, random_state=0)
        model.fit(data.X, data.y, verbose=False)
        errors = np.concatenate(ratios)
        count = len(errors)
        assert count > 300
        assert abs(errors[:, 0].mean()) < 5 / np.sqrt(count)
        assert abs((errors[:, 0] ** 2).mean() - 1) < 5 * np.sqrt(2 / count)
        assert np.allclose(np.abs(errors[:, 0]), np.abs(errors[:, 1]), atol=1e-2)
        assert 0.3 < (np.sign(errors[:, 0]) == np.sign(errors[:, 1])).mean() < 0.7


def test_epsilon_of_a_whole_training_leaves_messages_little() -> None:
    sizes = competitors.Settings(20_000, 60, 200)
    assert sizes.messages == 200 * 6 * 60
    one, whole = (competitors.METHODS["masked"].params(8.0, sizes), competitors.WHOLE["masked"].params(8.0, sizes))
    assert whole["sigma2"] > 50 * one["sigma2"]
    each = competitors.WHOLE["FedXGBoost-LDP"].params(8.0, sizes)["epsilon"]
    assert 8.0 / 60 <= each < 1.0
    assert competitors.METHODS["masked, root noise"].params(8.0, sizes) == {**one, "noise_scale": "root"}


def test_candidates_are_cuts_and_twice_as_many_where_values_are_missing() -> None:
    data = generate(300, (1, 2))
    data.X[:, 1] = np.arange(300) % 4
    data.X[:, 2] = np.where(np.arange(300) % 3 == 0, np.nan, np.arange(300) % 5)
    assert dp.candidates_of(trained.Part(data, data)) == 3 + 2 * 4

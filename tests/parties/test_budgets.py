"""What a passive party has shown is counted over sessions, runs and restarts, and refused beyond what it agreed to."""

import json
from collections.abc import Iterator

import pytest

from processes import Served, at_rest, last_run
from vfxgb.party.sections import ConsentSection
from vfxgb.protocols import protocol_by_name
from vfxgb.protocols.open_sums.active import OpenedSums

QUICK = {"name": "ot_shares", "params": dict(protocol_by_name("ot_shares").quick_params)}


@pytest.fixture
def shop(world) -> Iterator[object]:
    """Serve with a consent and a folder of one's own: shop(name, **consent)."""
    running: list[Served] = []

    def serve(name: str, **consent: object) -> Served:
        running.append(Served(world.passive("shop", name=name, folder=f"{name}-folder", consent=consent)))
        return running[-1]

    yield serve
    for one in running:
        if one.process.poll() is None:
            one.stop()


def _account(world, name, peer="bank"):
    """What a party has shown its peer when no session is open."""
    at_rest(world.folder / f"{name}-folder")
    return json.loads((world.folder / f"{name}-folder" / "accounts" / f"{peer}.json").read_text().splitlines()[0])


def _ledger(world, name, run):
    """The ledger of a session that has ended: the other party may be done a moment earlier."""
    at_rest(world.folder / f"{name}-folder")
    return json.loads((world.folder / f"{name}-folder" / "runs" / run / "ledger.json").read_text())


def test_the_same_round_is_not_shown_again_and_again(world, shop, vfxgb, monkeypatch, capsys):
    """A greedy active party reads the sums of the root, breaks off, and resumes to have them for other gradients."""
    one = shop("once", max_trees=1)
    config = world.active(
        {"shop": one.address},
        name="greedy",
        folder="greedy-folder",
        train={"n_estimators": 1, "max_depth": 1},
        protocol=QUICK,
        resume={"resume_seconds": 0.0},
    )
    seen = []
    propose = OpenedSums.propose

    def read_and_leave(self, level):
        seen.append(propose(self, level))
        raise KeyboardInterrupt

    monkeypatch.setattr(OpenedSums, "propose", read_and_leave)
    assert vfxgb("train", config, "--quiet") == 130
    run = last_run(config).run
    assert [vfxgb("train", config, "--quiet", "--resume", run) for _ in range(2)] == [4, 4]
    assert len(seen) == 1
    told = capsys.readouterr().err
    assert f"shop does not agree to begin round 0 of run {run[:8]}: 1 rounds of 1 trees were begun" in told
    assert "wanted at most 1 trees in all (max_trees)" in told
    # A new beginning of the same run would be the same round once more.
    last_run(config).rows_file.unlink()
    assert vfxgb("train", config, "--quiet", "--resume", run) == 4
    assert "has begun 1 rounds of run" in capsys.readouterr().err
    assert len(seen) == 1
    account = _account(world, "once")
    assert account["trees"] == 1
    assert account["runs"] == {run: {"total": 1, "again": 0, "furthest": 0}}


def test_every_time_a_round_is_shown_is_in_ledger_and_account(world, shop, vfxgb, monkeypatch):
    """Consent leaves room for three trees: the run of one tree may be broken off twice, and nothing is forgotten."""
    one = shop("thrice", max_trees=3)
    config = _bank(world, one.address, "clumsy", train={"n_estimators": 1, "max_depth": 1}, protocol=QUICK)
    propose = OpenedSums.propose

    def read_and_leave(self, level):
        propose(self, level)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(OpenedSums, "propose", read_and_leave)
        assert vfxgb("train", config, "--quiet") == 130
        run = last_run(config).run
        assert vfxgb("train", config, "--quiet", "--resume", run) == 130
    assert vfxgb("train", config, "--quiet", "--resume", run) == 0
    # The passive party's ledger and account have every time, not the last one.
    ledger = _ledger(world, "thrice", run)
    (sums,) = (entry for entry in ledger["entries"] if entry["unit"] == "sums")
    assert sums["messages"] == 3
    assert ledger["begun"] == {"shop": [3, 2]}
    assert "shop began 3 rounds, 2 of them again" in ledger["text"]
    account = _account(world, "thrice")
    assert account["trees"] == 3
    assert account["runs"] == {run: {"total": 3, "again": 2, "furthest": 0}}


def _bank(world, address, name, **changes):
    usual = {"name": name, "folder": f"{name}-folder", "resume": {"resume_seconds": 0.0}}
    return world.active({"shop": address}, **{**usual, **changes})


def test_budgets_over_all_runs_outlive_the_process(world, shop, vfxgb, capsys, tmp_path):
    """Two runs are granted, the third is refused by name, before and after a restart; so are predictions."""
    people = len(world.common(("bank", "shop")))
    one = shop("frugal", total_trees=7, total_predicted_rows=people + 5)
    config = _bank(world, one.address, "patient")
    assert vfxgb("train", config, "--quiet") == 0
    assert vfxgb("train", config, "--quiet") == 0
    scores = tmp_path / "scores.csv"
    assert vfxgb("predict", config, world.folder / "bank.csv", scores) == 0
    before = _account(world, "frugal")
    assert (before["trees"], before["predicted_rows"], len(before["runs"])) == (6, people, 2)
    assert (before["alignments"], before["lookup_ids"]) == (3, 0)
    run = last_run(config).run
    at_rest(one.folder)
    told = json.loads((world.folder / "frugal-folder" / "runs" / run / "predictions.json").read_text())
    (routed,) = (entry for entry in told["entries"] if entry["message"] == "routed")
    assert 0 < before["comparisons"] == routed["amount"] < people * 3 * 3
    assert f"{before['comparisons']:,} comparisons (no limit)" in told["account"]
    mine = json.loads((last_run(config).path / "predictions.json").read_text())
    assert [entry for entry in mine["entries"] if entry["message"] == "routed"] == [routed]
    sums = [
        entry["amount"]
        for run in before["runs"]
        for entry in _ledger(world, "frugal", run)["entries"]
        if entry["unit"] == "sums" and entry["sender"] == "shop"
    ]
    assert before["opened_sums"] == sum(sums) > 0
    for restart in (False, True):
        if restart:
            one.stop()
            again = Served(one.config)
            config = _bank(world, again.address, "patient")
        capsys.readouterr()
        assert vfxgb("train", config, "--quiet") == 4
        assert (
            "shop does not agree to 3 more trees for bank, wanted at most 1: 6 of 7 (total_trees, over all runs) are "
            "used; ask shop"
        ) in capsys.readouterr().err
        assert vfxgb("predict", config, world.folder / "bank.csv", scores) == 4
        assert f"{people} more predicted rows for bank, wanted at most 5: {people}" in capsys.readouterr().err
        assert vfxgb("check", config) == 4
        assert "3 more trees for bank" in capsys.readouterr().out
    # Two predictions were refused when it showed how many rows are common; that they were aligned for counts.
    assert _account(world, "frugal") == {**before, "alignments": before["alignments"] + 2}
    assert vfxgb("check", one.config) == 0
    told = capsys.readouterr().out
    assert f"bank was shown 6 trees (of 7), {sum(sums):,} gradient sums (no limit), {people:,} predicted rows" in told
    assert again.stop() == 0
    report = tmp_path / "report.html"
    folder = last_run(one.config).path
    assert vfxgb("report", folder, "-o", report) == 0
    assert "Over all runs: bank was shown 6 trees (of 7)" in report.read_text()
    # What predictions told since stands beside what training told.
    assert f"{before['comparisons']:,} comparisons (no limit)" in report.read_text()
    assert vfxgb("report", folder) == 0
    shown = capsys.readouterr().out
    assert "In predictions, bank learned from shop: which rows go left at the sender's splits" in shown
    assert f"({before['comparisons']:,} comparisons)" in shown


def test_sums_have_a_limit_and_are_charged_before_they_leave(world, shop, vfxgb, capsys):
    one = shop("sparing", total_opened_sums=50)
    config = _bank(world, one.address, "wanting")
    assert vfxgb("train", config, "--quiet") == 4
    told = capsys.readouterr().err
    assert "more gradient sums for bank, wanted at most" in told
    assert "(total_opened_sums, over all runs)" in told
    assert _account(world, "sparing")["opened_sums"] <= 50


def test_a_damaged_account_answers_nothing(world, shop, vfxgb, capsys):
    one = shop("damaged")
    config = _bank(world, one.address, "unlucky")
    assert vfxgb("train", config, "--quiet") == 0
    at_rest(one.folder)
    file = one.folder / "accounts" / "bank.json"
    file.write_bytes(file.read_bytes()[:-5])
    capsys.readouterr()
    assert vfxgb("train", config, "--quiet") == 4
    assert "shop cannot read its account of what it has shown bank and answers nothing" in capsys.readouterr().err
    (refused,) = (event for event in at_rest(one.folder) if event["event"] == "refused")
    assert f"{file}': it is truncated or damaged" in refused["cause"]
    assert len(list((one.folder / "runs").iterdir())) == 1
    assert vfxgb("check", one.config) == 2
    assert "it is truncated or damaged; restore a copy" in capsys.readouterr().out


def test_epsilon_is_the_passive_partys_to_limit(world, shop, vfxgb, capsys):
    """Buckets under federboost: refused beyond the limits, and sent again as they were in another order of rows."""
    one = shop("private", max_epsilon=ConsentSection().max_epsilon, max_total_epsilon=5.0)

    def train(params, **changes):
        capsys.readouterr()
        config = _bank(world, one.address, "curious", protocol={"name": "federboost", "params": params}, **changes)
        return config, vfxgb("train", config, "--quiet"), capsys.readouterr().err

    _, code, told = train({"epsilon": 1000.0})
    assert code == 4
    assert "shop does not agree to a release with epsilon 3000 for one of its rows, wanted at most 8 in a run" in told
    assert not (world.folder / "private-folder" / "accounts" / "bank.json").exists()
    # Other parameters of trees, and rows in another order: the same release, at no further cost.
    for depth in (2, 3):
        config, code, told = train({"total_epsilon": 3.0}, train={"max_depth": depth})
        assert code == 0, told
        assert len(_account(world, "private")["releases"]) == 1
    ledger = _ledger(world, "private", last_run(config).run)
    assert "over all runs: bank saw 3 releases" in ledger["all_runs"]
    assert "epsilon 3 in total" in ledger["all_runs"]
    assert any("used a release of an earlier run again" in note for note in ledger["notes"])
    _, code, told = train({"total_epsilon": 3.0}, train={"max_bin": 15})
    assert code == 4
    assert "release epsilon 3 more about its rows to bank, wanted at most 2: 3 of 5 (max_total_epsilon" in told
    assert len(_account(world, "private")["releases"]) == 1
    _, code, told = train({"total_epsilon": 3.0}, train={"learning_rate": 0.1})
    assert code == 0, told


def test_labels_are_released_once_for_all_runs(world, shop, vfxgb):
    one = shop("labels")
    for depth in (2, 3):
        config = _bank(
            world,
            one.address,
            "labelled",
            protocol={"name": "ldp", "params": {"epsilon": 1.0}},
            train={"max_depth": depth},
        )
        assert vfxgb("train", config, "--quiet") == 0
    document = json.loads(last_run(config).ledger_file.read_text())
    assert document["all_runs"].startswith("over all runs: shop saw 1 release ")
    assert "epsilon 1 in total" in document["all_runs"]
    account = _account(world, "labelled", "shop")
    assert len(account["releases"]) == 1

"""Releases under differential privacy outlive their run: used again as they were, and added up where they differ."""

import stat
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulated_runs import fit_tables
from vfxgb.audit.attacks.ldp_average import ATTACK
from vfxgb.audit.view import AttackerView
from vfxgb.data.table import Table
from vfxgb.dp.event import Event
from vfxgb.errors import FormatError
from vfxgb.params import TrainParams
from vfxgb.protocols.federboost.messages import Buckets
from vfxgb.runtime.ledger import Ledger
from vfxgb.train.releases import PrivacyFolder, ReleaseLog
from vfxgb.train.simulate import FitResult

N = 600


def problem(n: int = N) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(5)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    return X, (X[:, 0] + X[:, 2] + 0.5 * rng.normal(size=n) > 0).astype(np.float64)


def run(
    privacy_dir: Path | None,
    protocol: str = "ldp",
    given: dict[str, Any] | None = None,
    y: np.ndarray | None = None,
    parties: int = 2,
    **train: Any,
) -> FitResult:
    """A small training; all runs have the same table."""
    X, labels = problem()
    names = ("bank", "shop", "mart")[:parties]
    columns = [[0, 1], [2], [3]] if parties == 3 else [[0, 1], [2, 3]]
    tables = {
        party: Table.read(X[:, part], names=[f"f{c}" for c in part], party=party)
        for party, part in zip(names, columns, strict=True)
    }
    usual = {"objective": "binary:logistic", "n_estimators": 1, "max_depth": 2, "max_bin": 6, "n_jobs": 1}
    return fit_tables(
        tables,
        "bank",
        labels if y is None else y,
        None,
        N,
        TrainParams(**(usual | train)),
        protocol,
        {"epsilon": 1.0} if given is None else given,
        record=True,
        privacy_dir=privacy_dir,
    )


def sent(found: FitResult, tag: str, party: str) -> list[bytes]:
    """The payloads of that kind that a party sent or got."""
    assert found.transcript is not None
    return [bytes(one.payload) for one in found.transcript.records[party].messages if one.tag == tag]


def total(found: FitResult, party: str = "bank", receiver: str = "shop") -> float:
    """Epsilon over all runs."""
    return sum(event.epsilon for event in found.ledger.across_runs[party, receiver])


def guesses(found: FitResult) -> np.ndarray:
    """What the audit's averaging attack makes of the shop's view."""
    transcript = found.transcript
    assert transcript is not None
    view = AttackerView(transcript.records["shop"], transcript.catalogue, "ldp", transcript.params, None)
    (claim,) = ATTACK.run(view).claims
    guess = np.zeros(N)
    guess[claim.rows] = claim.values
    return guess


@pytest.mark.parametrize("kept", [False, True])
def test_averaging_over_twelve_runs_gains_nothing_from_releases_that_are_kept(kept: bool, tmp_path: Path) -> None:
    """Other seeds, depths and learning rates: none of them is a reason to draw labels again."""
    y = problem()[1]
    votes = [
        guesses(run(tmp_path if kept else None, random_state=number, learning_rate=0.1 + number / 20, base_score=0.5))
        for number in range(12)
    ]
    first = np.mean(votes[0] == y)
    all_of_them = np.mean((np.mean(votes, axis=0) > 0.5) == y)
    assert 0.65 < first < 0.80  # e / (1 + e) = .731 of labels are sent as they are
    if kept:
        assert all((one == votes[0]).all() for one in votes)
        assert all_of_them == first
    else:
        assert all_of_them > 0.9


def test_labels_are_used_again_byte_for_byte_and_cost_once(tmp_path: Path) -> None:
    one = run(tmp_path, max_depth=1)
    two = run(tmp_path, max_depth=1, random_state=7)
    other = run(tmp_path, max_depth=3, n_estimators=2)
    assert sent(one, "ldp-gradients", "shop") == sent(two, "ldp-gradients", "shop")
    assert sent(other, "ldp-gradients", "shop")[0] == sent(one, "ldp-gradients", "shop")[0]
    assert total(one) == total(two) == total(other) == 1.0
    assert two.ledger.privacy.total("shop").epsilon_total == 1.0
    assert "used a release of an earlier run again" in two.ledger.text()
    assert "used a release" not in one.ledger.text()
    assert "over all runs: shop saw 1 release" in two.ledger.text()


def test_without_a_folder_the_ledger_says_so(tmp_path: Path) -> None:
    found = run(None)
    assert "this run only: every other run on the same rows" in found.ledger.text()
    assert "this run only" not in run(tmp_path).ledger.text()
    assert "this run only" not in run(None, "plain", {}).ledger.text()
    assert sent(found, "ldp-gradients", "shop") != sent(run(None), "ldp-gradients", "shop")


def test_other_labels_epsilons_or_rows_are_other_releases_and_add_up(tmp_path: Path) -> None:
    y = problem()[1]
    flipped = y.copy()
    flipped[0] = 1 - flipped[0]
    assert total(run(tmp_path)) == 1.0
    assert total(run(tmp_path, given={"epsilon": 2.0})) == 3.0
    assert total(run(tmp_path, y=flipped)) == 4.0
    # The same noise, corrected afterwards, is the same release.
    assert total(run(tmp_path, given={"epsilon": 1.0, "unbiased": True})) == 4.0
    found = run(tmp_path, given={"epsilon": 2.0})
    assert total(found) == 4.0
    assert "over all runs: shop saw 3 releases" in found.ledger.text()
    assert "epsilon 4 in total" in found.ledger.all_runs()


def test_noise_on_gradients_is_drawn_in_every_run_and_adds_up(tmp_path: Path) -> None:
    given = {"mechanism": "laplace", "epsilon": 0.5}
    assert total(run(tmp_path, given=given, n_estimators=3)) == pytest.approx(1.5)
    assert total(run(tmp_path, given=given, n_estimators=3)) == pytest.approx(3.0)


def test_a_new_receiver_gets_the_release_that_is_there(tmp_path: Path) -> None:
    """Both passive parties see one release: if they pool what they saw, they know no more."""
    one = run(tmp_path)
    two = run(tmp_path, parties=3)
    assert (
        sent(one, "ldp-gradients", "shop") == sent(two, "ldp-gradients", "shop") == sent(two, "ldp-gradients", "mart")
    )
    assert total(two) == total(two, receiver="mart") == 1.0
    assert {event.receiver for event in two.ledger.privacy.events} == {"shop", "mart"}


def test_buckets_of_a_passive_party_are_used_again(tmp_path: Path) -> None:
    given = {"epsilon": 1.0}
    one = run(tmp_path, "federboost", given)
    two = run(tmp_path, "federboost", given, max_depth=3, random_state=4)
    buckets = sent(one, Buckets.TAG, "bank")
    assert len(buckets) == 2
    assert sent(two, Buckets.TAG, "bank") == buckets
    assert total(two, "shop", "bank") == total(one, "shop", "bank") == 2.0
    # Other bins are another release.
    other = run(tmp_path, "federboost", given, max_bin=5)
    assert total(other, "shop", "bank") == 4.0
    assert sent(other, Buckets.TAG, "bank") != buckets
    # Labels are no part of it.
    assert total(run(tmp_path, "federboost", given, y=1 - problem()[1]), "shop", "bank") == 4.0


def test_files_are_readable_by_their_owner_only_and_damage_is_refused_by_name(tmp_path: Path) -> None:
    run(tmp_path / "kept")
    for path in (tmp_path / "kept").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) & 0o077 == 0, path
    (release,) = (tmp_path / "kept" / "bank" / "releases").glob("*.bin")
    good = release.read_bytes()
    for bad, match in (
        (good[:-1], "truncated or damaged"),
        (good[:50] + bytes([good[50] ^ 1]) + good[51:], "truncated or damaged"),
        (b"", "truncated or damaged"),
    ):
        release.write_bytes(bad)
        with pytest.raises(FormatError, match=match) as refused:
            run(tmp_path / "kept")
        assert str(release) in str(refused.value)
    release.unlink()
    # It is lost, so it is drawn anew, and what was released before stays released.
    assert total(run(tmp_path / "kept")) == 2.0
    account = tmp_path / "kept" / "bank" / "accounts" / "shop.json"
    account.write_text(account.read_text().replace("1.0", "0.5"))
    with pytest.raises(FormatError, match="bank reading its account of what it has shown shop"):
        run(tmp_path / "kept")
    account.unlink()
    (tmp_path / "kept" / "bank" / "releases" / "secret").write_bytes(b"short")
    with pytest.raises(FormatError, match="found 5 bytes, wanted 32"):
        run(tmp_path / "kept")


def log(folder: Path, ids: np.ndarray | None) -> ReleaseLog:
    return ReleaseLog("a test", "salt", [], Ledger(), ["shop"], PrivacyFolder(folder, "bank"), ids, {})


def test_the_same_people_in_another_order_are_the_same_rows(tmp_path: Path) -> None:
    """Parties agree on a new secret order in every run."""
    rng = np.random.default_rng(2)
    ids = rng.integers(0, 256, size=(50, 16), dtype=np.uint8)
    values = rng.integers(0, 9, size=(3, 50)).astype(np.uint16)
    drawn = rng.integers(0, 9, size=(3, 50)).astype(np.uint16)
    first = log(tmp_path, ids).once({"epsilon": 1}, values, lambda: drawn, lambda: None)
    assert (first == drawn).all()
    order = rng.permutation(50)

    def never() -> np.ndarray:
        raise AssertionError("it was drawn again")

    again = log(tmp_path, ids[order]).once({"epsilon": 1}, values[:, order], never, lambda: None)
    assert (again == drawn[:, order]).all()
    for changed_ids, changed in ((ids, values + 1), (ids[::-1].copy(), values)):
        with pytest.raises(AssertionError, match="drawn again"):
            log(tmp_path, changed_ids).once({"epsilon": 1}, changed, never, lambda: None)


def test_two_runs_at_once_draw_one_release(tmp_path: Path) -> None:
    values = np.zeros(20, dtype=np.float32)
    found: list[np.ndarray] = []
    draws: list[int] = []

    def one() -> None:
        own = log(tmp_path, None)

        def draw() -> np.ndarray:
            draws.append(1)
            own.events.append(Event("coin", 1.0, "shop", "labels"))
            return np.random.default_rng().normal(size=20).astype(np.float32)

        found.append(own.once({}, values, draw, lambda: None))

    threads = [threading.Thread(target=one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(draws) == 1
    assert all((array == found[0]).all() for array in found)
    assert PrivacyFolder(tmp_path, "bank").account("shop").read().accountant().total("shop").epsilon_total == 1.0

"""Limits over all runs: charged before anything is answered, kept on disk, safe against two sessions at once."""

import hashlib
import multiprocessing
import threading
from dataclasses import replace

import pytest

from vfxgb.dp.event import Event
from vfxgb.errors import ConsentError, FormatError
from vfxgb.party.budget import Budget
from vfxgb.party.folder import PartyFolder
from vfxgb.party.sections import ConsentSection
from vfxgb.protocols.plain.messages import PlainSums
from vfxgb.train.account import Account

RELEASE = Event("randomised response", 3.0, "bank", "the values of one row at shop")
RUN = "ab" * 16


@pytest.fixture
def folder(tmp_path):
    return PartyFolder(tmp_path / "shop").make()


def _budget(folder, **section):
    return Budget(ConsentSection(**section), folder.account("shop", "bank"))


def test_rounds_are_charged_whether_they_were_begun_before_or_not(folder):
    for round_index in (0, 1, 1, 2):
        _budget(folder, max_trees=14).begin_round(RUN, round_index, 3)
    totals = _budget(folder).totals()
    assert totals.trees == 12
    assert (totals.runs[RUN].total, totals.runs[RUN].again, totals.runs[RUN].furthest) == (4, 1, 2)
    with pytest.raises(ConsentError) as refused:
        _budget(folder, max_trees=14).begin_round(RUN, 2, 3)
    assert str(refused.value) == (
        f"shop does not agree to begin round 2 of run {RUN[:8]}: 4 rounds of 3 trees were begun, some of them again, "
        "wanted at most 14 trees in all (max_trees): a round that is begun again shows its sums again; ask shop for a "
        "higher max_trees and resume, nothing is lost"
    )
    assert _budget(folder).totals().trees == 12
    # Each run has its own count, and a higher limit lets the same run go on.
    _budget(folder, max_trees=15).begin_round(RUN, 2, 3)
    _budget(folder, max_trees=1).begin_round("cd" * 16, 0, 1)


def test_trees_of_all_runs_have_a_limit(folder):
    for number in range(2):
        _budget(folder, total_trees=5).may(trees=2)
        for round_index in range(2):
            _budget(folder, total_trees=5).begin_round(f"{number:032x}", round_index, 1)
    with pytest.raises(ConsentError, match=r"2 more trees for bank, wanted at most 1: 4 of 5 \(total_trees, over all"):
        _budget(folder, total_trees=5).may(trees=2)
    with pytest.raises(ConsentError, match="2 more trees"):
        _budget(folder, total_trees=5).begin_round("ef" * 16, 0, 2)
    assert "ef" * 16 not in _budget(folder).totals().runs


def test_sums_are_charged_before_they_are_sent(folder):
    message = PlainSums(round=0, depth=0, trees=[])
    asked = replace_amount(message, 40)
    _budget(folder, total_opened_sums=100).send(asked)
    _budget(folder, total_opened_sums=100).send(asked)
    with pytest.raises(ConsentError, match=r"40 more gradient sums for bank, wanted at most 20: 80 of 100"):
        _budget(folder, total_opened_sums=100).send(asked)
    assert _budget(folder).totals().opened_sums == 80


def replace_amount(message, amount):
    """A message of the same class that says it shows so many sums."""

    class Counted(type(message), frozen=True):
        def amount(self):
            return amount

    return Counted(**{name: getattr(message, name) for name in message.__struct_fields__})


def test_predicted_rows_of_all_models(folder):
    budget = _budget(folder, total_predicted_rows=10)
    budget.may(predicted_rows=1)
    budget.charge(predicted_rows=9)
    with pytest.raises(ConsentError, match=r"2 more predicted rows for bank, wanted at most 1: 9 of 10"):
        _budget(folder, total_predicted_rows=10).charge(predicted_rows=2)
    assert _budget(folder).totals().predicted_rows == 9


def test_comparisons_are_charged_at_their_most_and_given_back(folder):
    budget = _budget(folder, total_comparisons=100)
    budget.charge(predicted_rows=2, comparisons=80)
    budget.give_back(30)
    with pytest.raises(ConsentError, match=r"51 more comparisons for bank, wanted at most 50: 50 of 100 \(total_comp"):
        _budget(folder, total_comparisons=100).charge(predicted_rows=1, comparisons=51)
    budget.charge(predicted_rows=1, comparisons=50)
    totals = _budget(folder).totals()
    assert (totals.comparisons, totals.predicted_rows) == (100, 3)


def test_ids_looked_up_and_alignments_have_limits(folder):
    budget = _budget(folder, total_lookup_ids=10, total_alignments=2)
    budget.may(lookup_ids=10)
    budget.charge(lookup_ids=7)
    with pytest.raises(ConsentError, match=r"4 more ids looked up for bank, wanted at most 3: 7 of 10 \(total_lookup"):
        budget.may(lookup_ids=4)
    with pytest.raises(ConsentError, match="4 more ids looked up"):
        _budget(folder, total_lookup_ids=10).charge(lookup_ids=4)
    for _ in range(2):
        budget.may(alignments=1)
        budget.charge(alignments=1)
    for refused in (budget.may, _budget(folder, total_alignments=2).charge):
        with pytest.raises(ConsentError, match=r"1 more alignments for bank, wanted at most 0: 2 of 2 \(total_alig"):
            refused(alignments=1)
    totals = _budget(folder).totals()
    assert (totals.lookup_ids, totals.alignments) == (7, 2)


def test_an_account_of_an_earlier_version_is_read(folder):
    """Counts that it did not have begin at 0."""
    body = b'{"party":"shop","peer":"bank","trees":4,"format":"vfxgb account","version":1}'
    folder.account("shop", "bank").file.write_bytes(body + b"\n" + hashlib.sha256(body).hexdigest().encode() + b"\n")
    totals = _budget(folder).totals()
    assert (totals.trees, totals.comparisons, totals.lookup_ids, totals.alignments) == (4, 0, 0, 0)


def test_epsilon_of_a_run_and_of_all_runs(folder):
    with pytest.raises(ConsentError, match=r"epsilon 1000 for one of its rows, wanted at most 8 in a run \(max_eps"):
        _budget(folder).epsilon(1000.0)
    # Twelve features that share 8 make 8 again, up to rounding.
    _budget(folder).epsilon(sum([8 / 12] * 12))
    budget = _budget(folder, max_epsilon=4.0, max_total_epsilon=7.0)
    budget.release("bank", "one", [RELEASE], True, [RELEASE])
    budget.release("bank", "one", [RELEASE], False, [RELEASE])
    budget.release("bank", "two", [RELEASE], True, [RELEASE])
    with pytest.raises(ConsentError, match=r"release epsilon 3 more .* wanted at most 1: 6 of 7 \(max_total_epsilon"):
        budget.release("bank", "three", [RELEASE], True, [RELEASE])
    with pytest.raises(ConsentError, match=r"epsilon 6 for one of its rows, wanted at most 4"):
        budget.release("bank", "one", [RELEASE], False, [RELEASE] * 2)
    # What was released before may be used again when the budget is used up.
    budget.release("bank", "two", [RELEASE], False, [RELEASE])
    assert sorted(_budget(folder).totals().releases) == ["one", "two"]
    # The file of a release was lost: it is drawn anew, and what was released before stays released.
    with pytest.raises(ConsentError, match="release epsilon 3 more"):
        budget.release("bank", "one", [RELEASE], True, [RELEASE])


def test_releases_of_one_run_are_counted_and_not_listed(folder):
    account = folder.account("bank", "shop")
    for round_index in range(50):
        with account.change() as totals:
            totals.enter("", [replace(RELEASE, round_=round_index)], True)
    claim = Event("masked", float("inf"), "shop", "labels", holds=False, reason="no")
    with account.change() as totals:
        totals.enter("", [claim], True)
    totals = account.read()
    assert [repeated.times for repeated in totals.drawn] == [50, 1]
    assert totals.accountant().total("bank").epsilon_total == pytest.approx(150.0)
    assert "no guarantee: no" in totals.spent()


@pytest.mark.parametrize("damage", ["truncated", "digit", "empty", "other peer", "version"])
def test_a_damaged_account_answers_nothing(folder, damage):
    _budget(folder).charge(predicted_rows=7)
    file = folder.account("shop", "bank").file
    assert file.stat().st_mode & 0o077 == 0
    data = file.read_bytes()
    if damage == "other peer":
        with folder.account("shop", "mall").change() as totals:
            totals.trees = 1
        file.write_bytes(folder.account("shop", "mall").file.read_bytes())
    elif damage == "version":
        with folder.account("shop", "bank").change() as totals:
            totals.version = 9
    else:
        spoilt = {
            "truncated": data[:-9],
            "digit": data.replace(b'"predicted_rows":7', b'"predicted_rows":0'),
            "empty": b"",
        }
        file.write_bytes(spoilt[damage])
    asked = [
        lambda budget: budget.charge(predicted_rows=1),
        lambda budget: budget.may(trees=1),
        lambda budget: budget.begin_round(RUN, 0, 1),
        lambda budget: budget.send(replace_amount(PlainSums(round=0, depth=0, trees=[]), 1)),
        lambda budget: budget.release("bank", "key", [RELEASE], True, [RELEASE]),
        lambda budget: budget.charge(lookup_ids=1),
        lambda budget: budget.charge(alignments=1),
        lambda budget: budget.describe(),
    ]
    before = file.read_bytes()
    for ask in asked:
        with pytest.raises(ConsentError, match="shop cannot read its account of what it has shown bank") as refused:
            ask(_budget(folder))
        # Where the file lies is for the party's own log.
        assert str(folder.path) not in str(refused.value)
        assert str(file) in str(refused.value.__cause__)
    assert file.read_bytes() == before
    with pytest.raises(FormatError):
        folder.account("shop", "bank").read()


def _spend(path, times):
    for _ in range(times):
        with Account(path, "shop", "bank").change() as totals:
            totals.trees += 1


def test_two_sessions_and_two_processes_at_once(folder):
    process = multiprocessing.get_context("spawn").Process(target=_spend, args=(folder.accounts, 40))
    process.start()
    threads = [threading.Thread(target=_spend, args=(folder.accounts, 40)) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    process.join(60)
    assert process.exitcode == 0
    assert _budget(folder).totals().trees == 160


def test_what_was_shown_in_plain_words(folder):
    budget = _budget(folder, total_trees=500, max_total_epsilon=10.0, total_lookup_ids=100)
    budget.begin_round(RUN, 0, 2)
    budget.charge(predicted_rows=1234)
    budget.release("bank", "one", [RELEASE], True, [RELEASE])
    budget.charge(lookup_ids=77)
    budget.charge(alignments=1)
    assert budget.describe() == (
        "bank was shown 2 trees (of 500), 0 gradient sums (no limit), 1,234 predicted rows (no limit), 0 comparisons "
        "(no limit), 77 ids looked up (of 100), 1 alignments (no limit) in 1 runs; epsilon 3 of 10 was released"
    )

"""Lookups: the rows that all parties have, in the order asked."""

from typing import Any

import numpy as np
import pytest

from align_runs import Outcome, pair, together
from vfxgb.align import Answerer, Asker, Ids, make_ids
from vfxgb.align.alignment import TagTable
from vfxgb.align.messages import AskRows, FoundRows, LookupReady, OpenLookup, UseRows
from vfxgb.errors import AlignmentError, ConsentError, MessageError, PeerError
from vfxgb.transport.messages import pack_array


def run_lookup(questions: list[Ids], tables: list[Ids], steps: tuple[str, ...] = ()) -> Outcome:
    outcome = Outcome()
    ends = {ids.party: pair("bank", ids.party, outcome) for ids in tables}
    channels = {party: one for party, (one, _) in ends.items()}

    def ask() -> Any:
        asker = Asker("bank", channels, steps)
        found = [asker.ask(ids) for ids in questions]
        asker.close()
        return asker.n_ids, found

    def answer(ids: Ids) -> Any:
        rows: list[Any] = []
        Answerer(ids.party, ids, ends[ids.party][1]).serve(rows.append)
        return rows

    roles: dict[str, Any] = {"bank": (ask, list(channels.values()))}
    for ids in tables:
        roles[ids.party] = (lambda ids=ids: answer(ids), [ends[ids.party][1]])
    return together(roles, outcome)


def test_two_parties() -> None:
    table = make_ids(["d", "a", "b", "c"], "shop")
    outcome = run_lookup([make_ids(["a", "x", "d"]), make_ids(["y"]), make_ids(["c"])], [table])
    n_ids, found = outcome.alignments()["bank"]
    assert n_ids == {"shop": 4}
    assert [some.tolist() for some in found] == [[True, False, True], [False], [True]]
    assert [rows.tolist() for rows in outcome.results["shop"]] == [[1, 0], [], [3]]
    amounts = [message.amount() for _, _, message in outcome.messages if isinstance(message, AskRows)]
    assert amounts == [3, 1, 1]


def test_three_parties_use_what_all_have() -> None:
    tables = [make_ids(["a", "b", "c"], "shop"), make_ids(["c", "b", "z"], "telco")]
    outcome = run_lookup([make_ids(["c", "a", "b"])], tables)
    _, found = outcome.alignments()["bank"]
    assert found[0].tolist() == [True, False, True]
    assert outcome.results["shop"][0].tolist() == [2, 1]
    assert outcome.results["telco"][0].tolist() == [0, 1]


def test_tags_differ_between_sessions() -> None:
    runs = [run_lookup([make_ids(["a"])], [make_ids(["a"], "shop")]) for _ in range(2)]
    tags = [bytes(m.tags) for run in runs for _, _, m in run.messages if isinstance(m, AskRows)]
    assert len(set(tags)) == 2


def test_other_steps() -> None:
    outcome = run_lookup([], [make_ids(["a"], "shop", ["lower"])])
    assert "other steps there than here (lower)" in str(outcome.errors["shop"])
    assert isinstance(outcome.errors["bank"], PeerError)
    outcome = run_lookup([make_ids(["a"], "", ["strip"])], [make_ids(["a"], "shop")])
    assert isinstance(outcome.errors["bank"], AlignmentError)
    outcome = run_lookup([make_ids([])], [make_ids(["a"], "shop")])
    assert "found 0 ids" in str(outcome.errors["bank"])


def bits(*flags: int) -> memoryview:
    return pack_array(np.array(flags, dtype=np.uint8))


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (FoundRows(n_ids=2, found=bits(1)), "found an answer for 2 ids, wanted 3"),
        (FoundRows(n_ids=3, found=bits(1, 0)), "found 2 bytes, wanted 1"),
        (FoundRows(n_ids=3, found=bits(0x10)), "bits behind the last id"),
    ],
)
def test_bad_answers(answer: FoundRows, wanted: str) -> None:
    one, other = pair("bank", "shop")
    other.send(LookupReady(n_ids=1))
    other.send(answer)
    with pytest.raises(MessageError, match=wanted):
        Asker("bank", {"shop": one}, ()).ask(make_ids(["a", "b", "c"]))


@pytest.mark.parametrize(
    ("tags", "use", "wanted"),
    [
        (bytes(0), UseRows(n_ids=0, used=bits()), "found 0 ids"),
        (bytes(17), UseRows(n_ids=1, used=bits(0)), "found 17 bytes, wanted 16"),
        (bytes(16), UseRows(n_ids=1, used=bits(1)), "ids to use that are not here"),
        (bytes(16), UseRows(n_ids=2, used=bits(0)), "answer for 2 ids, wanted 1"),
    ],
)
def test_bad_questions(tags: bytes, use: UseRows, wanted: str) -> None:
    one, other = pair("bank", "shop")
    table = make_ids(["a"], "shop")
    one.send(OpenLookup(key=bytes(16), steps=table.steps_digest))
    one.send(AskRows(tags=memoryview(tags)))
    one.send(use)
    with pytest.raises(MessageError, match=wanted):
        Answerer("shop", table, other).serve(lambda rows: None)


def test_bad_key() -> None:
    one, other = pair("bank", "shop")
    one.send(OpenLookup(key=bytes(15), steps=bytes(32)))
    with pytest.raises(MessageError, match="found 15 bytes, wanted 16"):
        Answerer("shop", make_ids(["a"], "shop"), other)


def test_tags_with_equal_halves() -> None:
    """Tags that differ in their lower half only are told apart."""
    words = np.array([[3, 5], [1, 5], [2, 5], [9, 2**64 - 1], [0, 0]], dtype=np.uint64)
    table = TagTable(words.view(np.uint8).reshape(-1, 16))
    asked = np.array([[2, 5], [4, 5], [0, 0], [3, 5], [9, 2**64 - 1], [10, 2**64 - 1], [1, 6]], dtype=np.uint64)
    assert table.find(asked.view(np.uint8).reshape(-1, 16)).tolist() == [2, -1, 4, 0, 3, -1, -1]


def test_a_question_that_is_not_agreed_to_is_not_answered() -> None:
    """Consent is asked with the number of ids before the table is searched."""
    one, other = pair("bank", "shop")
    table = make_ids(["a", "b"], "shop")
    asked: list[int] = []

    def accept(count: int) -> None:
        asked.append(count)
        if sum(asked) > 3:
            raise ConsentError("shop does not agree to so many")

    one.send(OpenLookup(key=bytes(16), steps=table.steps_digest))
    for _ in range(2):
        one.send(AskRows(tags=memoryview(bytes(32))))
        one.send(UseRows(n_ids=2, used=bits(0)))
    told: list[tuple[int, int]] = []
    with pytest.raises(ConsentError):
        Answerer("shop", table, other, accept, lambda *counts: told.append(counts)).serve(lambda rows: None)
    assert (asked, told) == ([2, 2], [(2, 0)])
    assert isinstance(one.recv(LookupReady), LookupReady)
    assert isinstance(one.recv(FoundRows), FoundRows)
    other.close()
    with pytest.raises(PeerError, match="has closed the channel"):
        one.recv(FoundRows)

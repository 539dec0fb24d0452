"""Alignment against sets of Python: two and more parties, every method, groups, order, digests."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from align_runs import TOY, Outcome, pair, run_alignment, together
from property_tests import examples
from vfxgb.align import Alignment, AlignParams, Ids, align_active, align_passive, kkrt, make_ids
from vfxgb.align.messages import CommonTags, Hint, OpenAlign, TwiceBlindedIds
from vfxgb.align.params import MAX_IDS, SMALL_IDS, bin_count
from vfxgb.errors import AlignmentError, ConsentError, PeerError
from vfxgb.transport.channel import Channel
from vfxgb.transport.messages import Abort, Message

ECDH = AlignParams(method="ecdh")


def check(outcome: Outcome, groups: list[list[str]], peers: list[list[str]]) -> None:
    """The result is what sets say, and everybody has the same order."""
    results = outcome.alignments()
    active = results.pop("bank")
    for group, positions in zip(groups, active.positions, strict=True):
        wanted = set(group).intersection(*peers)
        assert sorted(group[row] for row in positions) == sorted(wanted)
    order = [group[row] for group, rows in zip(groups, active.positions, strict=True) for row in rows]
    for (party, alignment), ids in zip(sorted(results.items()), peers, strict=True):
        assert party.startswith("shop")
        (positions,) = alignment.positions
        assert positions.dtype == np.int64
        assert [ids[row] for row in positions] == order
        assert (alignment.digest, alignment.sizes) == (active.digest, active.sizes)
    assert len(active.digest) == 32


def names(*numbers: range | list[int]) -> list[str]:
    return [f"id {number}" for some in numbers for number in some]


def passive(lists: list[list[str]]) -> list[Ids]:
    return [make_ids(some, f"shop {place}") for place, some in enumerate(lists)]


@pytest.mark.parametrize("params", [TOY, ECDH], ids=["kkrt", "ecdh"])
@pytest.mark.parametrize(
    ("groups", "other"),
    [
        ([names(range(50))], names(range(49, 24, -1), range(100, 130))),
        ([names(range(30)), names(range(30, 50))], names(range(20, 45))),
        ([names(range(5)), names(range(5, 9))], names(range(5))),
        ([names([1])], names([1])),
        ([names([1])], names(range(40))),
        ([names(range(300))], names([299])),
        ([names(range(20))], names(range(20))),
    ],
    ids=["overlap", "groups", "empty second group", "one", "one of many", "many of one", "equal"],
)
def test_two_parties(params: AlignParams, groups: list[list[str]], other: list[str]) -> None:
    check(run_alignment([make_ids(some, "bank") for some in groups], passive([other]), params), groups, [other])


@pytest.mark.parametrize("n_passives", [2, 3, 5])
def test_more_parties(n_passives: int) -> None:
    groups = [names(range(60)), names(range(60, 80))]
    peers = [
        names(range(10 + place, 75 - place), range(100 * place + 100, 100 * place + 130 + place))
        for place in range(n_passives)
    ]
    check(run_alignment([make_ids(some, "bank") for some in groups], passive(peers)), groups, peers)


@examples(10)
@given(
    st.lists(st.integers(0, 30), min_size=1, unique=True),
    st.lists(st.lists(st.integers(0, 30), min_size=1, unique=True), min_size=1, max_size=3),
)
def test_any_sets(own: list[int], others: list[list[int]]) -> None:
    lists = [names(some) for some in others]
    outcome = run_alignment([make_ids(names(own), "bank")], passive(lists))
    if set(own).intersection(*others):
        check(outcome, [names(own)], lists)
    else:
        assert isinstance(outcome.errors["bank"], AlignmentError)
        assert all(isinstance(error, AlignmentError) for error in outcome.errors.values())


def test_several_blocks() -> None:
    """More bins and numbers than one message holds; the default group and parameters."""
    groups = [names(range(14_000))]
    other = names(range(7_000, 42_000))
    outcome = run_alignment([make_ids(groups[0], "bank")], passive([other]), AlignParams())
    check(outcome, groups, [other])
    assert sum(isinstance(message, Hint) for _, _, message in outcome.messages) > 1


def test_pairwise_matches_stay_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the active party obtains from one of two passive parties does not show which ids that one has."""
    seen: dict[str, list[np.ndarray]] = {"shop 0": [], "shop 1": []}
    send_rows, receive_store = kkrt._send_rows, kkrt._receive_store

    def spy_rows(receiver: Any, digests: Any, table: Any, channel: Channel, *rest: Any) -> np.ndarray:
        values = send_rows(receiver, digests, table, channel, *rest)
        seen[channel.peer].append(values[table != 2**32 - 1])
        return values

    def spy_store(digests: Any, entries: Any, n_passive: int, channel: Channel, *rest: Any) -> np.ndarray:
        seen[channel.peer].append(receive_store(digests, entries, n_passive, channel, *rest))
        return seen[channel.peer][-1]

    monkeypatch.setattr(kkrt, "_send_rows", spy_rows)
    monkeypatch.setattr(kkrt, "_receive_store", spy_store)
    own, one, two = names(range(40)), names(range(30)), names(range(20, 40))
    outcome = run_alignment([make_ids(own, "bank")], passive([one, two]))
    check(outcome, [own], [one, two])
    obtained = {peer: rows ^ stored for peer, (rows, stored) in seen.items()}
    for values in obtained.values():
        assert len(np.unique(values)) == 40
        assert (values != 0).all()
    assert (obtained["shop 0"] == obtained["shop 1"]).sum() == 10


@pytest.mark.parametrize("params", [TOY, ECDH], ids=["kkrt", "ecdh"])
@pytest.mark.parametrize("at", ["bank", "shop 0"])
@pytest.mark.parametrize("messages", range(5))
def test_a_party_that_vanishes(monkeypatch: pytest.MonkeyPatch, params: AlignParams, at: str, messages: int) -> None:
    """It closes its channel instead of sending message number `messages`: the other is told and does not wait."""
    send, sent = Channel.send_encoded, []

    def vanish(channel: Channel, message: Message, payload: bytes) -> None:
        if channel.own == at:
            if len(sent) == messages:
                channel.close()
                raise KeyboardInterrupt
            sent.append(message)
        send(channel, message, payload)

    monkeypatch.setattr(Channel, "send_encoded", vanish)
    outcome = run_alignment([make_ids(names(range(9)), "bank")], passive([names(range(5, 12))]), params)
    if at in outcome.errors:
        (other,) = {"bank", "shop 0"} - {at}
        assert isinstance(outcome.errors[at], KeyboardInterrupt)
        assert isinstance(outcome.errors[other], PeerError) or isinstance(outcome.results[other], Alignment)
    else:
        assert len(sent) <= messages


def test_order_is_fresh_and_not_that_of_a_file() -> None:
    ids, other = make_ids(names(range(60)), "bank"), passive([names(range(60))])
    runs = [run_alignment([ids], other).alignments()["bank"] for _ in range(2)]
    assert runs[0].digest != runs[1].digest
    assert runs[0].positions[0].tolist() != runs[1].positions[0].tolist()
    assert runs[0].positions[0].tolist() != list(range(60))


def test_the_method_follows_the_sizes() -> None:
    params = AlignParams()
    assert params.choose(SMALL_IDS, SMALL_IDS, 1) == "ecdh"
    assert params.choose(SMALL_IDS + 1, 1, 1) == params.choose(1, SMALL_IDS + 1, 1) == "kkrt"
    assert params.choose(1, 1, 2) == "kkrt"
    assert bin_count(1) % 128 == 0
    assert bin_count(MAX_IDS) < 2**32


def test_nothing_in_common_says_how_many() -> None:
    outcome = run_alignment([make_ids(["a", "b"], "bank")], passive([["c"], ["a", "d", "e"]]))
    assert "bank had 2 there, shop 0 1, shop 1 3" in str(outcome.errors["bank"])
    for party, count in (("shop 0", 1), ("shop 1", 3)):
        assert f"bank had 2, {party} {count}" in str(outcome.errors[party])


def test_a_first_group_without_rows_is_no_alignment() -> None:
    outcome = run_alignment([make_ids(["a"], "bank"), make_ids(["b"], "bank")], passive([["b", "c"]]))
    assert "no id of the first group" in str(outcome.errors["bank"])
    assert isinstance(outcome.errors["shop 0"], AlignmentError)


def test_other_steps_are_refused() -> None:
    outcome = run_alignment([make_ids(["a"], "bank", ["strip"])], [make_ids(["a"], "shop", ["lower"])])
    assert "normalised by other steps there than here (lower)" in str(outcome.errors["shop"])
    assert isinstance(outcome.errors["bank"], PeerError)


def test_other_parameters_are_refused() -> None:
    outcome = run_alignment([make_ids(["a"], "bank")], [make_ids(["a"], "shop")], {"bank": TOY, "shop": ECDH})
    assert "found method 'kkrt' with 768 bits there, and 'ecdh' with 3072 here" in str(outcome.errors["shop"])


def test_points_are_for_two_parties() -> None:
    outcome = run_alignment([make_ids(["a"], "bank")], passive([["a"], ["a"]]), ECDH)
    assert "for two parties and there are 3" in str(outcome.errors["bank"])


@pytest.mark.parametrize(
    ("groups", "wanted"),
    [
        ([], "found no ids"),
        ([make_ids([])], "found no ids"),
        ([make_ids(["a"]), make_ids(["a"])], "row 0 of group 0 and row 0 of group 1"),
        ([make_ids(["a"]), make_ids(["b"], "", ["strip"])], "different steps"),
    ],
)
def test_bad_groups(groups: list[Ids], wanted: str) -> None:
    assert wanted in str(run_alignment(groups, passive([["a"]])).errors["bank"])


def test_too_many_ids() -> None:
    zeros = np.lib.stride_tricks.as_strided(np.zeros(16, dtype=np.uint8), (MAX_IDS + 1, 16), (0, 1))
    outcome = run_alignment([Ids("bank", zeros, ())], [Ids("shop", zeros, ())])
    assert f"found {MAX_IDS + 1} ids, wanted at most {MAX_IDS}" in str(outcome.errors["bank"])
    assert f"found {MAX_IDS + 1} ids, wanted 1 to {MAX_IDS}" in str(outcome.errors["shop"])


def test_no_other_party() -> None:
    assert "no other party" in str(run_alignment([make_ids(["a"], "bank")], []).errors["bank"])


def test_progress() -> None:
    seen: list[tuple[str, int, int]] = []
    own, other = names(range(100)), names(range(50))
    run_alignment([make_ids(own, "bank")], passive([other]), TOY, lambda *args: seen.append(args)).alignments()
    assert seen[0][0] == "comparing ids with shop 0"
    assert all(done == total for _, done, total in seen)


def test_messages_say_what_they_reveal() -> None:
    outcome = run_alignment([make_ids(["a", "b"], "bank")], passive([["b"]]))
    amounts = {type(message): message.amount() for _, _, message in outcome.messages}
    assert amounts[CommonTags] == 1
    assert amounts[OpenAlign] == 2


def test_weak_groups_need_a_word() -> None:
    with pytest.raises(ValueError, match="group_bits=768 is no protection"):
        AlignParams(group_bits=768)


def _ids(first: int, count: int, party: str = "") -> Ids:
    return make_ids([f"person {number}" for number in range(first, first + count)], party)


def _refusing(params: AlignParams, own: Ids, other: Ids, **hooks: Any) -> Outcome:
    """An alignment with a passive party that has agreed to some of it only."""
    outcome = Outcome()
    one, end = pair("bank", "shop", outcome)
    return together(
        {
            "bank": (lambda: align_active("bank", [own], {"shop": one}, params, 1), [one]),
            "shop": (lambda: align_passive("shop", other, end, params, 1, **hooks), [end]),
        },
        outcome,
    )


@pytest.mark.parametrize("params", [TOY, ECDH], ids=["kkrt", "ecdh"])
def test_claimed_ids_are_looked_at_before_anything_is_answered(params: AlignParams) -> None:
    def refuse(claimed: int) -> None:
        raise ConsentError(f"shop does not agree to {claimed} ids")

    outcome = _refusing(params, _ids(0, 7), _ids(0, 20, "shop"), accept=refuse)
    assert isinstance(outcome.errors["bank"], ConsentError)
    assert "shop does not agree to 7 ids" in str(outcome.errors["bank"])
    assert [type(message) for _, receiver, message in outcome.messages if receiver == "bank"] == [Abort]


def test_too_few_common_ids_are_refused_before_the_active_party_learns_which() -> None:
    counted: list[int] = []

    def enough(common: int) -> None:
        counted.append(common)
        if common < 4:
            raise ConsentError("shop does not agree to so few")

    outcome = _refusing(ECDH, _ids(0, 10), _ids(7, 30, "shop"), enough=enough)
    assert counted == [3]
    assert isinstance(outcome.errors["bank"], ConsentError)
    received = {type(message) for _, receiver, message in outcome.messages if receiver == "bank"}
    assert TwiceBlindedIds not in received
    agreed = _refusing(ECDH, _ids(0, 10), _ids(6, 30, "shop"), enough=enough).alignments()
    assert counted == [3, 4]
    assert agreed["bank"].sizes == agreed["shop"].sizes == (4,)


@pytest.mark.parametrize("params", [TOY, ECDH], ids=["kkrt", "ecdh"])
def test_a_low_overlap_is_said_with_a_hint(params: AlignParams) -> None:
    low = run_alignment([_ids(0, 10)], [_ids(6, 30, "shop")], params).alignments()
    for found in low.values():
        assert found.hint.startswith("only 4 of 10 ids of the smaller table are common")
        assert "normalise of [data]" in found.hint
    half = run_alignment([_ids(0, 10)], [_ids(5, 30, "shop")], params).alignments()
    assert [found.hint for found in half.values()] == ["", ""]

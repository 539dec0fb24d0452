"""Joint prediction in two sides: consent, what is counted, how often the parties talk."""

from typing import Any

import numpy as np
import pytest

from prediction_runs import DEPTH, N, naive_margins, over_channels, trained
from vfxgb.errors import ConsentError, MessageError, ShareMismatchError
from vfxgb.predict.messages import PREDICTION_MESSAGES, OpenPrediction, Route, Routed
from vfxgb.predict.sides import follow_prediction, lead_prediction
from vfxgb.runtime.ledger import Ledger
from vfxgb.transport.channel import Channel, memory_channels
from vfxgb.transport.messages import Catalogue, pack_array, pack_bytes
from vfxgb.transport.threads import PartyThread, run_together


def test_all_three_results_and_the_naive_walk() -> None:
    result, tables, X = trained()
    margin, _, counted = over_channels(result, tables)
    assert margin.shape == (N, 1)
    assert np.array_equal(margin[:, 0], naive_margins(result, X, 5))
    assert counted == {"shop": N, "mart": N}
    value, _, _ = over_channels(result, tables, what="value")
    assert np.allclose(value, 1 / (1 + np.exp(-margin[:, 0])), atol=1e-6)
    leaves, _, _ = over_channels(result, tables, what="leaves", n_rounds=2)
    assert leaves.shape == (N, 2)
    first, _, _ = over_channels(result, tables, n_rounds=2)
    assert np.array_equal(first[:, 0], naive_margins(result, X, 2))


@pytest.mark.parametrize("strategy", ["learned", "probabilistic"])
def test_round_trips_and_what_the_ledger_counts(strategy: str) -> None:
    result, tables, _ = trained(strategy)
    ledger = Ledger()
    _, channels, _ = over_channels(result, tables, ledger=ledger)
    entries = {(one.receiver, one.message): one for one in ledger.entries}
    for party, channel in channels.items():
        # One to agree, at most one per level.
        assert entries[party, "route"].messages <= DEPTH
        assert channel.traffic.round_trips <= DEPTH + 2
        asked = entries[party, "route"].amount
        answered = next(one for one in ledger.entries if one.message == "routed" and one.sender == party)
        assert asked > 0
        assert asked <= answered.amount < asked + 8 * DEPTH


def test_a_route_counts_the_rows_it_asks_about() -> None:
    def route(sizes: bytes) -> Route:
        return Route(depth=0, first=0, count=9, records=pack_bytes(b""), sizes=pack_bytes(sizes), rows=pack_bytes(b""))

    assert route(bytes(pack_array(np.array([3, 9, 1], dtype=np.int32)))).amount() == 13
    # What a receiver refuses must not trouble its ledger.
    assert route(bytes(pack_array(np.array([-5, 2], dtype=np.int32))) + b"x").amount() == 2
    assert route(b"\xff\xff\xff\x7f" * 3).amount() == 3 * (2**31 - 1)


def test_queries_can_be_refused() -> None:
    result, tables, _ = trained()
    asked: list[OpenPrediction] = []

    def limit(opening: OpenPrediction) -> None:
        asked.append(opening)
        if sum(one.n_rows for one in asked) > 4 * N:
            raise ConsentError(f"at most {4 * N} rows")

    for _ in range(2):
        over_channels(result, tables, limit)
    with pytest.raises(ConsentError, match="at most 600 rows"):
        over_channels(result, tables, limit)
    assert {one.model for one in asked} == {result.active_share.seal.model}


def test_a_party_without_a_channel() -> None:
    result, tables, _ = trained()
    with pytest.raises(ShareMismatchError, match=r"found channels to \[\], wanted one to each of \['mart', 'shop'\]"):
        lead_prediction(result.active_share, tables["bank"], {})


def test_several_predictions_over_one_channel() -> None:
    result, tables, X = trained()
    catalogue = Catalogue(PREDICTION_MESSAGES)
    channels, others = {}, {}

    def follow(party: str, channel: Channel) -> None:
        for _ in range(3):
            follow_prediction(result.passive_shares[party], tables[party], channel)

    for party in result.passive_shares:
        channels[party], theirs = memory_channels("bank", party, catalogue, bytes(16), timeout=30.0)
        others[party] = PartyThread(party, lambda p=party, c=theirs: follow(p, c), theirs)

    def lead() -> list[np.ndarray]:
        return [lead_prediction(result.active_share, tables["bank"], channels) for _ in range(3)]

    for margin in run_together(lead, channels, others):
        assert np.array_equal(margin[:, 0], naive_margins(result, X, 5))


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"depth": 3}, "found level 3"),
        ({"n_answers": 1}, "found 1 answers, wanted"),
        ({"left": pack_bytes(b"")}, "found 0 bytes, wanted"),
        ({"missing": pack_bytes(b"1")}, "found 1 bytes, wanted 0"),
    ],
)
def test_answers_that_do_not_fit(change: dict[str, Any], match: str, monkeypatch: pytest.MonkeyPatch) -> None:
    from vfxgb.predict.passive import PassivePredictor

    result, tables, _ = trained()
    answer = PassivePredictor._answer

    def lying(self: PassivePredictor, route: Route, with_missing: bool) -> Routed:
        honest = answer(self, route, with_missing)
        values = {name: getattr(honest, name) for name in honest.__struct_fields__}
        return Routed(**(values | change))

    monkeypatch.setattr(PassivePredictor, "_answer", lying)
    with pytest.raises(MessageError, match=match):
        over_channels(result, tables)

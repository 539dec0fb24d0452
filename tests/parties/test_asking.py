"""What a pinned peer may ask about ids and rows: claims, look-ups and paths, held against peers that deviate."""

from collections.abc import Iterator

import msgspec
import numpy as np
import pytest

from deviating_bank import DeviatingBank
from processes import QUICK_ALIGN, Served, at_rest, last_run
from vfxgb.align import Asker, align_active, make_ids
from vfxgb.align.messages import AlignReady, OpenAlign
from vfxgb.align.normalise import steps_digest
from vfxgb.align.params import AlignParams
from vfxgb.errors import ConsentError, PeerError
from vfxgb.model.file import load_share
from vfxgb.predict.messages import Route, Routed
from vfxgb.transport.messages import pack_array, pack_bytes

FEW, LIMIT = 2, 30
CONSENT = {
    "min_common_rows": 100,
    "min_claimed_ids": 5,
    "min_lookup_ids": FEW,
    "total_lookup_ids": LIMIT,
    "total_comparisons": 5000,
}
ALIGN = AlignParams(**QUICK_ALIGN)


@pytest.fixture(scope="module")
def guarded(world) -> Iterator[DeviatingBank]:
    from vfxgb.cli import main

    one = Served(world.passive("shop", name="guarded", folder="guarded-folder", consent=CONSENT))
    try:
        config = world.active({"shop": one.address}, name="guarded-bank", folder="guarded-bank-folder")
        assert main(["train", str(config), "--quiet"]) == 0
        yield DeviatingBank(world, one, last_run(config).run)
    finally:
        one.stop()


@pytest.mark.parametrize(
    ("claimed", "said"),
    [
        (1 << 28, "an alignment of 268,435,456 ids, wanted at most 1,000,000 (max_claimed_ids"),
        (1, "an alignment of 1 ids, wanted at least 100 (min_common_rows)"),
    ],
)
def test_claims_are_refused_before_anything_is_allocated(guarded, claimed, said) -> None:
    before = guarded.account()["alignments"]
    session = guarded.training()
    opening = OpenAlign("auto", ALIGN.group_bits, claimed, 1, steps_digest(()))
    session.channel.send(opening)
    with pytest.raises(ConsentError) as refused:
        session.channel.recv(AlignReady)
    assert f"shop does not agree to {said}" in str(refused.value)
    session.link.close()
    assert guarded.account()["alignments"] == before


def test_too_few_common_rows_are_refused_before_the_bank_learns_which(guarded) -> None:
    """Both have few ids, so that points are compared: 120 ids are claimed, and 3 of them are the shop's."""
    guarded_ids = np.flatnonzero(guarded.world.has["shop"])[:3]
    ids = [*guarded.world.ids[guarded_ids], *(f"nobody {number}" for number in range(117))]
    before = guarded.account()["alignments"]
    session = guarded.training()
    with pytest.raises(ConsentError) as refused:
        align_active("bank", [make_ids(ids, "bank")], {"shop": session.channel}, ALIGN, 1)
    told = str(refused.value)
    session.link.close()
    assert "fewer rows in common than it works on, wanted at least 100 (min_common_rows)" in told
    # The bank is not told how many there are; the shop's own log has it.
    assert "3" not in told
    assert guarded.logged("refused", "fewer rows in common")["cause"] == "3 rows are common"
    assert guarded.account()["alignments"] == before + 1


def test_a_prediction_of_one_id_is_not_aligned(guarded) -> None:
    session = guarded.predicting("psi")
    with pytest.raises(ConsentError, match="an alignment of 1 ids, wanted at least 5"):
        align_active("bank", [make_ids(["person 0001"], "bank")], {"shop": session.channel}, ALIGN, 1)
    session.link.close()


def test_lookups_are_limited_and_counted_whether_their_rows_are_used_or_not(guarded) -> None:
    people = guarded.world.ids[np.flatnonzero(guarded.world.has["shop"])]
    asked = guarded.account()["lookup_ids"]
    for ids, said in (
        (people[:1], "looking up 1 ids at once, wanted at least 2 (min_lookup_ids)"),
        (people[: LIMIT + 1], f"{LIMIT + 1} more ids looked up for bank, wanted at most {LIMIT - asked}"),
    ):
        session = guarded.predicting("lookup")
        asker = Asker("bank", {"shop": session.channel}, ())
        with pytest.raises(ConsentError) as refused:
            asker.ask(make_ids(list(ids), "bank"))
        assert said in str(refused.value)
        session.link.close()
    assert guarded.account()["lookup_ids"] == asked
    session = guarded.predicting("lookup")
    asker = Asker("bank", {"shop": session.channel}, ())
    assert asker.ask(make_ids([*people[:3], "nobody"], "bank")).tolist() == [True, True, True, False]
    session.link.close()
    assert guarded.account()["lookup_ids"] == asked + 4
    looked_up = guarded.logged("looked up")
    assert (looked_up["ids"], looked_up["found"]) == (4, 3)


def test_rows_that_were_looked_up_are_not_asked_about_beside_their_path(guarded) -> None:
    before = guarded.account()
    session, splits = guarded.looked_up(3)
    records = np.arange(splits, dtype=np.int32)
    sizes = np.full(len(records), 3, dtype=np.int32)
    session.channel.send(Route(0, 0, 3, pack_array(records), pack_array(sizes), pack_bytes(b"")))
    with pytest.raises(PeerError, match="received something that does not fit the state of the run"):
        session.channel.recv(Routed)
    session.link.close()
    # Rows are charged as soon as they are looked up; the comparisons that were not answered are given back.
    after = guarded.account()
    assert after["comparisons"] == before["comparisons"]
    assert after["predicted_rows"] == before["predicted_rows"] + 3
    assert guarded.logged("failed", "a prediction answers the path of each row and no more")


def test_comparisons_have_a_limit_over_all_predictions(guarded, vfxgb, tmp_path, capsys) -> None:
    config = guarded.world.folder / "guarded-bank.toml"
    codes = []
    while 4 not in codes and len(codes) < 9:
        codes.append(vfxgb("predict", config, guarded.world.folder / "bank.csv", tmp_path / "scores.csv", "--quiet"))
    assert codes[0] == 0
    assert codes[-1] == 4
    assert "more comparisons for bank, wanted at most" in capsys.readouterr().err
    assert 2500 < guarded.account()["comparisons"] <= 5000


def test_lookups_are_off_unless_consent_says_otherwise(world, vfxgb, tmp_path, capsys) -> None:
    one = Served(world.passive("shop", name="discreet", folder="discreet-folder", consent={"lookup": False}))
    try:
        config = world.active({"shop": one.address}, name="inquisitive", folder="inquisitive-folder")
        assert vfxgb("train", config, "--quiet") == 0
        scores = tmp_path / "scores.csv"
        capsys.readouterr()
        assert vfxgb("predict", config, world.folder / "bank.csv", scores, "--lookup") == 4
        told = capsys.readouterr().err
        assert "shop does not agree to looking up ids, wanted lookup = true in its [consent]" in told
        assert vfxgb("predict", config, "--serve", "--port", "0") == 4
        assert "lookup = true" in capsys.readouterr().err
        assert vfxgb("predict", config, world.folder / "bank.csv", scores) == 0
        assert vfxgb("check", one.config) == 0
        told = capsys.readouterr().out
        assert "0 ids looked up (no limit), 2 alignments (no limit)" in told
        # A model of an earlier version does not say where its splits stand.
        at_rest(one.folder)
        share = one.folder / "runs" / last_run(config).run / "share.json"
        _without_paths(share)
        assert vfxgb("predict", config, world.folder / "bank.csv", scores) == 4
        assert "earlier version, does not say where its splits stand" in capsys.readouterr().err
    finally:
        one.stop()


def _without_paths(file) -> None:
    """Write a passive share as a version before this one did."""
    from dataclasses import replace

    from vfxgb.model.file import save_share
    from vfxgb.model.seal import commit, model_digest

    share = load_share(file)
    own = commit(share.run, share.party, share.records, share.seal.salt)
    parties = tuple((party, own if party == share.party else digest) for party, digest in share.seal.parties)
    model = model_digest(share.run, parties, share.seal.trees)
    save_share(
        replace(share, paths=None, seal=msgspec.structs.replace(share.seal, own=own, parties=parties, model=model)),
        file,
    )
    assert load_share(file).paths is None

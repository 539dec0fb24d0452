import msgspec
import pytest

from vfxgb.contract.messages import Setup
from vfxgb.errors import ConsentError
from vfxgb.party.consent import Consent, QueryCount, Refusals, smallest_key
from vfxgb.party.folder import PartyFolder
from vfxgb.party.messages import TrainRequest
from vfxgb.party.sections import ConsentSection
from vfxgb.protocols import make_protocol_params, protocol_by_name

SMALL_HE = {"small_nodes": "batch_he", "he": {"key_bits": 256, "insecure": True}}


def _request(protocol="ot_shares", params=None, trees=10, depth=5, bucket=1, told=False, rule="gain"):
    parties = ("bank", "shop")
    return TrainRequest(protocol, params or {}, trees, depth, bucket, parties, told_sample=told, split_rule=rule)


def _consent(**section):
    return Consent("shop", ConsentSection(**section))


@pytest.mark.parametrize("protocol", ["ot_shares", "batch_he", "ldp"])
def test_without_a_word_only_protocols_without_a_known_attack_are_accepted(protocol):
    params = {"epsilon": 1.0} if protocol == "ldp" else {}
    _consent().training(_request(protocol, params))


@pytest.mark.parametrize("protocol", ["plain", "smm1", "masked"])
def test_the_others_are_refused(protocol):
    with pytest.raises(ConsentError, match=f"shop does not agree to the protocol '{protocol}'"):
        _consent().training(_request(protocol, {}))


def test_a_broken_protocol_needs_to_be_listed_and_insecure():
    request = _request("smm1", {"insecure": True, **SMALL_HE})
    with pytest.raises(ConsentError, match="which is broken"):
        _consent(protocols=("smm1",), min_key_bits=256).training(request)
    _consent(protocols=("smm1",), insecure=True, min_key_bits=256).training(request)
    with pytest.raises(ConsentError, match="keys of 256 bits"):
        _consent(protocols=("smm1",), insecure=True).training(request)


BEYOND = {
    "trees": ({"max_trees": 9}, _request(), "10 trees, wanted at most 9"),
    "depth": ({"max_depth": 4}, _request(), "depth 5, wanted at most 4"),
    "buckets": ({"min_bucket_rows": 5}, _request(), "min_bucket_rows of 1, wanted at least 5"),
    "sample": ({}, _request(told=True), "which rows GOSS chose by their labels, wanted told_sample = true"),
    "rule": ({"split_rules": ("gain",)}, _request(rule="centred"), "split_rule = 'centred', wanted one of 'gain'"),
    "group": ({}, _request(params={"group_bits": 768, "insecure": True}), "keys of 768 bits, wanted at least 2048"),
    "key": ({"min_key_bits": 3072}, _request("batch_he", {"key_bits": 2048}), "keys of 2048 bits"),
    "unlisted": ({"protocols": ("batch_he",)}, _request(), "'ot_shares', wanted one of 'batch_he'"),
    "unknown": ({"protocols": ("magic",)}, _request("magic"), "one that its version of vfxgb has"),
    "none": ({"protocols": ()}, _request(), "none at all"),
}


@pytest.mark.parametrize("rules", [None, ("centred",), ("gain", "centred")])
def test_rules_of_splits_that_are_agreed_to(rules):
    _consent(split_rules=rules).training(_request(rule="centred"))


@pytest.mark.parametrize("case", BEYOND)
def test_what_is_beyond_is_refused_by_name(case):
    section, request, said = BEYOND[case]
    with pytest.raises(ConsentError) as raised:
        _consent(**section).training(request)
    assert said in str(raised.value)
    assert "ask shop" in str(raised.value)


def test_everything_that_is_too_much_is_said_in_one_answer():
    consent = _consent(max_trees=9, max_depth=4, min_bucket_rows=5, min_key_bits=3072)
    with pytest.raises(ConsentError) as refused:
        consent.training(_request("batch_he", {"key_bits": 2048}, told=True))
    assert str(refused.value) == (
        "shop does not agree, for 5 reasons: (1) keys of 2048 bits, wanted at least 3072; (2) trees of depth 5, wanted "
        "at most 4; (3) min_bucket_rows of 1, wanted at least 5; (4) hearing which rows GOSS chose by their labels, "
        "wanted told_sample = true in its consent; (5) 10 trees, wanted at most 9; ask shop"
    )
    # What binds is looked at in the same way.
    with pytest.raises(ConsentError, match=r"for 2 reasons: \(1\) trees of depth 3, .* \(2\) 2 trees, wanted"):
        _consent(max_trees=1, max_depth=2).setup(_setup(False))


def test_refusals_of_several_steps_are_one_list():
    refusals = Refusals("shop")
    refusals.tell()
    with refusals.also():
        _consent(max_trees=1, max_depth=2).setup(_setup(False))
    with refusals.also():
        _consent(purposes=("credit",)).purpose("fun")
    with refusals.also():
        raise ConsentError("shop cannot read its account") from ValueError("truncated")
    with pytest.raises(ConsentError, match=r"for 4 reasons: .* \(4\) shop cannot read its account; ask shop") as told:
        refusals.tell()
    assert len(told.value.reasons) == 4
    assert str(told.value.__cause__) == "truncated"
    single = Refusals("shop")
    with single.also():
        _consent(purposes=("credit",)).purpose("fun")
    with pytest.raises(ConsentError, match=r"^shop does not agree to the purpose 'fun', wanted one of 'credit'"):
        single.tell()


@pytest.mark.parametrize(
    ("section", "claimed", "own", "training", "said"),
    [
        ({}, 1, 10, True, ""),
        ({}, 1_000_000, 10, True, ""),
        ({}, 1_000_001, 10, True, "of 1,000,001 ids, wanted at most 1,000,000 (max_claimed_ids; it has 10 ids itself)"),
        ({}, 16_000_000, 1_000_000, False, ""),
        ({}, 16_000_001, 1_000_000, False, "wanted at most 16,000,000 (max_claimed_ids"),
        ({"max_claimed_ids": 50}, 51, 1_000_000, False, "of 51 ids, wanted at most 50"),
        ({"max_claimed_ids": 1 << 28}, 1 << 28, 10, False, ""),
        ({"min_common_rows": 100}, 99, 10, True, "of 99 ids, wanted at least 100 (min_common_rows)"),
        ({"min_common_rows": 100}, 99, 10, False, ""),
        ({"min_claimed_ids": 100}, 99, 10, False, "of 99 ids, wanted at least 100 (min_claimed_ids)"),
    ],
)
def test_ids_that_a_peer_claims(section, claimed, own, training, said):
    consent = _consent(**section)
    if not said:
        consent.alignment(claimed, own, training)
        return
    with pytest.raises(ConsentError) as refused:
        consent.alignment(claimed, own, training)
    assert said in str(refused.value)


def test_lookups_need_consent_and_have_bounds():
    with pytest.raises(ConsentError, match=r"looking up ids, wanted lookup = true in its \[consent\]: .* --lookup"):
        _consent().lookup(5, 10)
    consent = _consent(lookup=True, min_lookup_ids=3, max_claimed_ids=8)
    consent.lookup(3, 10)
    consent.lookup(8, 10)
    for asked, said in ((2, "at least 3"), (9, "at most 8")):
        with pytest.raises(ConsentError, match=f"looking up {asked} ids at once, wanted {said}"):
            consent.lookup(asked, 10)


def test_few_common_rows_before_the_peer_knows_how_many():
    _consent(min_common_rows=10).enough_common(10)
    # With no limit of its own the party goes on, and both learn that no id is common.
    _consent().enough_common(0)
    with pytest.raises(ConsentError) as refused:
        _consent(min_common_rows=10).enough_common(7)
    assert "7" not in str(refused.value)
    assert str(refused.value.__cause__) == "7 rows are common"


def _setup(told):
    sizes = {"n_rows": 9, "n_train": 9, "n_outputs": 1, "max_depth": 3, "max_bin": 8, "min_bucket_rows": 1}
    places = {"first_round": 0, "n_rounds": 2, "start_round": 0}
    digests = {"rows_digest": b"", "trees_digest": b"", "state_digest": b"", "run": ""}
    rest = {"protocol": "ot_shares", "protocol_params": {}, "missing_strategy": "learned", "constrained": False}
    return Setup(**sizes, **places, **digests, **rest, told_sample=told)


def test_a_sample_that_is_told_can_be_agreed_to():
    for consent, told in ((_consent(), False), (_consent(told_sample=True), True)):
        consent.training(_request(told=told))
        consent.setup(_setup(told))
    with pytest.raises(ConsentError, match="which rows GOSS chose"):
        _consent().setup(_setup(True))


def test_predictions_that_cannot_be_hidden_are_refused_before_training():
    setup = msgspec.structs.replace(_setup(False), missing_strategy="conditional")
    _consent().setup(setup)
    _consent(prediction="hidden").setup(_setup(False))
    with pytest.raises(ConsentError, match="'conditional', whose predictions cannot be hidden, wanted another one"):
        _consent(prediction="hidden").setup(setup)


def test_purposes_are_compared_as_text():
    _consent().purpose("anything")
    _consent(purposes=("credit",)).purpose("credit")
    for asked in ("Credit", "", "credit scoring"):
        with pytest.raises(ConsentError, match="purpose"):
            _consent(purposes=("credit",)).purpose(asked)


def test_features_are_offered_in_the_order_of_the_table():
    assert _consent().features(("a", "b", "c")) == ("a", "b", "c")
    assert _consent(features=("c", "a", "x")).features(("a", "b", "c")) == ("a", "c")
    with pytest.raises(ConsentError, match="offers none"):
        _consent(features=("x",)).features(("a", "b"))


def test_too_few_common_rows():
    _consent(min_common_rows=10).common_rows(10)
    with pytest.raises(ConsentError, match="9 rows in common, wanted at least 10"):
        _consent(min_common_rows=10).common_rows(9)


def test_the_smallest_key_of_all():
    assert smallest_key(make_protocol_params(protocol_by_name("plain"), {})) is None
    assert smallest_key(make_protocol_params(protocol_by_name("smm1"), {"insecure": True, **SMALL_HE})) == 256


def test_predicted_rows_are_counted_across_restarts(tmp_path):
    folder = PartyFolder(tmp_path / "shop").make()
    count = QueryCount("shop", folder, 10)
    count.take("model", 6)
    count.take("other", 10)
    again = QueryCount("shop", folder, 10)
    assert again.used("model") == 6
    again.allow("model", 4)
    with pytest.raises(ConsentError, match="wanted at most 4: 6 of 10 are used"):
        again.take("model", 5)
    assert again.used("model") == 6
    assert folder.queries_file.stat().st_mode & 0o077 == 0
    folder.queries_file.write_text("{")
    with pytest.raises(ConsentError, match="refuses to predict"):
        again.allow("model", 1)


def test_without_a_limit_rows_are_counted_all_the_same(tmp_path):
    count = QueryCount("shop", PartyFolder(tmp_path / "shop").make(), None)
    count.take("model", 10**9)
    assert count.used("model") == 10**9


def test_a_party_that_demands_hidden_predictions() -> None:
    _consent().prediction(hidden=False)
    _consent().prediction(hidden=True)
    _consent(prediction="hidden").prediction(hidden=True)
    with pytest.raises(ConsentError, match=r"shop does not agree to an open prediction.*wanted a hidden one.*--hidden"):
        _consent(prediction="hidden").prediction(hidden=False)


def test_limits_of_what_is_told_are_those_of_consent():
    consent = _consent(max_won_columns=0.25, max_wins=40)
    assert consent.local_params("sealed", {"setup_dir": "kept"}) == {
        "setup_dir": "kept",
        "max_won_columns": 0.25,
        "max_wins": 40,
    }
    assert consent.limits("sealed", {}) == {"max_won_columns": 0.25, "max_wins": 40.0}
    # Another protocol tells no rows split by split, and has no such limits.
    assert consent.local_params("ot_shares", {}) == {}
    assert consent.limits("ot_shares", {}) == {}
    assert _consent().limits("sealed", {}) == {"max_won_columns": 0.5}


def test_a_limit_of_consent_stands_in_consent_only():
    with pytest.raises(ConsentError, match=r"shop setting up: found max_wins in \[protocol.local\], wanted it in"):
        _consent().local_params("sealed", {"max_wins": 9})

"""The document of a run: what is read, what may be missing, what is refused."""

import json
import math

import pytest

from report_runs import CURVE, record, write_run
from vfxgb.audit.report import AuditReport
from vfxgb.errors import FormatError, ShareMismatchError
from vfxgb.model.seal import seal_all
from vfxgb.model.shares import LEAF
from vfxgb.party.folder import RunFolder
from vfxgb.report import trees
from vfxgb.report.document import read_document


def test_everything_as_plain_json(folders) -> None:
    document = read_document(folders["bank"])
    assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert document["run"]["curves"] == {"valid": CURVE}
    assert document["files"] == ["ledger.json", "run.json", "share.json"]
    assert document["guarantees"]["attacks"] == ["an attack: that is known (E62)"]


def test_trees_are_those_of_the_share_with_others_masked(folders, result) -> None:
    model = read_document(folders["bank"])["model"]
    assert model["parties"] == ["bank", "shop"]
    assert model["known"] == ["bank"]
    for shown, tree in zip(model["trees"], result.active_share.trees, strict=True):
        assert shown["owner"] == tree.party.tolist()
        assert shown["yes"] == tree.left.tolist()
        for node, owner in enumerate(shown["owner"]):
            own = owner == 0
            assert (shown["cut"][node] is not None) == own
            assert (shown["name"][node] >= 0) == own
            if own:
                records = result.active_share.records
                number = int(tree.record[node])
                assert model["features"][shown["name"][node]] == records.features[records.feature[number]]
                assert shown["cut"][node] == pytest.approx(records.cut[number], rel=1e-5)
    assert set(model["importance"]["features"]) == {"bank"}
    assert "visits" not in json.dumps(model)


def test_another_share_unmasks(folders) -> None:
    model = read_document(folders["bank"], shares=[folders["shop"].share_file])["model"]
    inner = [
        cut for tree in model["trees"] for owner, cut in zip(tree["owner"], tree["cut"], strict=True) if owner >= 0
    ]
    assert inner
    assert None not in inner
    assert set(model["importance"]["features"]) == {"bank", "shop"}


def test_a_passive_party_has_its_own_splits_and_no_tree(folders, result) -> None:
    model = read_document(folders["shop"])["model"]
    assert model["trees"] == []
    assert len(model["records"]["shop"]) == len(result.passive_shares["shop"].records)


def test_a_record_is_all_that_must_be_there(tmp_path) -> None:
    folder = RunFolder(tmp_path / "x").make()
    folder.write(record(state="running", evals={"valid": {"auc": [0.5, math.nan]}}))
    document = read_document(folder)
    assert document["ledger"] is None
    assert document["model"] is None
    assert document["run"]["evals"] == {"valid": {"auc": [0.5, None]}}


def test_too_many_nodes_are_left_out(folders, monkeypatch) -> None:
    monkeypatch.setattr(trees, "MOST_NODES", 20)
    model = read_document(folders["bank"])["model"]
    assert 0 < len(model["trees"]) < model["n_trees"] == 3


def test_a_share_of_another_run(folders, tmp_path, result) -> None:
    _, passive = seal_all(result.active_share, result.passive_shares)  # once more: other salts
    other = write_run(tmp_path, passive["shop"], result.ledger)
    with pytest.raises(ShareMismatchError, match="another run, or another state"):
        read_document(folders["bank"], shares=[other.share_file])


def test_a_share_for_a_run_without_one(folders, tmp_path) -> None:
    folder = RunFolder(tmp_path / "x").make()
    folder.write(record())
    with pytest.raises(ShareMismatchError, match="has no share yet"):
        read_document(folder, shares=[folders["shop"].share_file])


def test_audit(folders, tmp_path) -> None:
    file = tmp_path / "audit.json"
    AuditReport("plain", (), ()).save_json(file)
    assert read_document(folders["bank"], file)["audit"]["protocol"] == "plain"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "no JSON"),
        ("[]", "it is no audit"),
        ('{"format": "vfxgb ledger"}', "it is no audit"),
        ('{"format": "vfxgb audit", "version": 9}', "version 9, wanted 1"),
    ],
)
def test_what_is_no_audit(folders, tmp_path, text: str, message: str) -> None:
    (tmp_path / "audit.json").write_text(text)
    with pytest.raises(FormatError, match=message):
        read_document(folders["bank"], tmp_path / "audit.json")


def test_leaves_are_marked(folders) -> None:
    tree = read_document(folders["bank"])["model"]["trees"][0]
    leaves = [node for node, owner in enumerate(tree["owner"]) if owner == LEAF]
    assert leaves
    assert all(tree["yes"][node] == LEAF and tree["cut"][node] is None for node in leaves)

"""`vfxgb inspect` and `vfxgb merge`: what a share shows, and that nothing is merged without everybody's consent."""

import argparse
import datetime as dt
import json
from pathlib import Path

import numpy as np
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.x509.oid import NameOID

from simulated_runs import fit_tables
from vfxgb.cli import inspect, merge
from vfxgb.data.table import Table
from vfxgb.errors import CertificateError, ConsentError, FormatError, ShareMismatchError
from vfxgb.model.drawing import draw_tree, party_importance
from vfxgb.model.file import save_share
from vfxgb.model.fitted import FittedModel
from vfxgb.model.shares import LEAF
from vfxgb.params import TrainParams
from vfxgb.train.simulate import FitResult

PARTIES = ("bank", "shop")


def _certify(folder: Path, party: str, key=None, days: tuple[int, int] = (-1, 30)) -> None:
    """party.pem and party.key."""
    key = key or ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, party)])
    now = dt.datetime.now(dt.timezone.utc)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now + dt.timedelta(days=days[0]))
        .not_valid_after(now + dt.timedelta(days=days[1]))
        .sign(key, hashes.SHA256())
    )
    (folder / f"{party}.pem").write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    private = folder / f"{party}.key"
    private.touch(0o600)
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )


@pytest.fixture(scope="module")
def result() -> FitResult:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    tables = {
        "bank": Table.read(X[:, :2], names=["age", "income"], party="bank"),
        "shop": Table.read(X[:, 2:], names=["basket", "visits"], party="shop"),
    }
    return fit_tables(
        tables, "bank", X[:, 0] + X[:, 2] * X[:, 3], None, 200, TrainParams(n_estimators=3, max_depth=3, n_jobs=1)
    )


@pytest.fixture
def folder(result, tmp_path) -> Path:
    """Shares, certificates, keys and consents of both parties."""
    save_share(result.active_share, tmp_path / "bank.json")
    save_share(result.passive_shares["shop"], tmp_path / "shop.json")
    for party in PARTIES:
        _certify(tmp_path, party)
        _run(merge, *_signing(tmp_path, party))
    return tmp_path


def _run(command, *given: object) -> int:
    parser = argparse.ArgumentParser()
    command.add(parser.add_subparsers())
    arguments = parser.parse_args([command.__name__.rsplit(".", 1)[1], *map(str, given)])
    return arguments.run(arguments)


def _signing(folder: Path, party: str, *more: object) -> list[object]:
    given = {"--consent": "json", "--key": "key", "--certificate": "pem"}
    files = [part for option, ending in given.items() for part in (option, folder / f"{party}.{ending}")]
    return [*files, "-o", folder / f"{party}.consent", *more]


def _merging(folder: Path, consents: tuple[str, ...] = PARTIES) -> list[object]:
    shares = [folder / f"{party}.json" for party in PARTIES]
    pins = [part for party in PARTIES for part in ("--certificate", folder / f"{party}.pem")]
    return [*shares, *(folder / f"{party}.consent" for party in consents), *pins, "-o", folder / "model.json"]


def test_all_consents_give_the_model(folder, result, capsys) -> None:
    assert _run(merge, *_merging(folder)) == 0
    assert "bank consented" in capsys.readouterr().out
    FittedModel(result.active_share, result.passive_shares).export_xgboost(folder / "expected.json")
    assert (folder / "model.json").read_bytes() == (folder / "expected.json").read_bytes()


@pytest.mark.parametrize("missing", PARTIES)
def test_without_one_of_them_there_is_none(folder, missing) -> None:
    with pytest.raises(ConsentError, match=f"consent of party '{missing}' is missing"):
        _run(merge, *_merging(folder, tuple(party for party in PARTIES if party != missing)))
    assert not (folder / "model.json").exists()


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("model", "0" * 64, "is for model 0000"),
        ("run", "other", "of run other"),
        ("use", "audit", "is for 'audit'"),
        ("note", "more than was said", "not signed with the key"),
        ("signed_at", "2020-01-01T00:00:00+00:00", "not signed with the key"),
        ("party", "bank", "two consents"),
    ],
)
def test_altered_consents(folder, field, value, message) -> None:
    path = folder / "shop.consent"
    document = json.loads(path.read_text())
    document["statement"][field] = value
    path.write_text(json.dumps(document))
    with pytest.raises(ConsentError, match=message):
        _run(merge, *_merging(folder))


@pytest.mark.parametrize("signature", ["", "!!", "AAAA"])
def test_altered_signatures(folder, signature) -> None:
    path = folder / "shop.consent"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"signature": signature}))
    with pytest.raises(ConsentError, match="not signed"):
        _run(merge, *_merging(folder))


def test_a_consent_is_checked_against_the_certificate_given(folder) -> None:
    _certify(folder, "shop")
    with pytest.raises(ConsentError, match="the certificate is another one"):
        _run(merge, *_merging(folder))
    (folder / "shop.pem").write_bytes((folder / "bank.pem").read_bytes())
    with pytest.raises(ConsentError, match="certificate of party 'shop' is missing"):
        _run(merge, *_merging(folder))


def test_a_consent_signed_when_the_certificate_had_expired(folder) -> None:
    _certify(folder, "shop", days=(-9, -3))
    _run(merge, *_signing(folder, "shop"))
    with pytest.raises(ConsentError, match="certificate was not valid"):
        _run(merge, *_merging(folder))


def test_only_a_party_itself_consents(folder) -> None:
    with pytest.raises(CertificateError, match="every party signs for itself"):
        _run(merge, "--consent", folder / "shop.json", *_signing(folder, "bank")[2:])
    with pytest.raises(CertificateError, match="is not that of"):
        _run(merge, *_signing(folder, "shop"), "--key", folder / "bank.key")
    (folder / "shop.key").chmod(0o644)
    with pytest.raises(CertificateError, match="others can read it"):
        _run(merge, *_signing(folder, "shop"))


def test_keys_that_cannot_sign(folder) -> None:
    _certify(folder, "shop", rsa.generate_private_key(65537, 2048))
    with pytest.raises(CertificateError, match="elliptic curve"):
        _run(merge, *_signing(folder, "shop"))
    (folder / "shop.pem").write_bytes(b"no certificate")
    with pytest.raises(CertificateError, match="no PEM certificate"):
        _run(merge, *_signing(folder, "shop"))


def test_merging_needs_all_shares_of_one_run(folder) -> None:
    _, shop, *rest = _merging(folder)
    with pytest.raises(ShareMismatchError, match="active party is missing"):
        _run(merge, shop, *rest)
    with pytest.raises(ShareMismatchError, match="second share"):
        _run(merge, shop, shop, *rest)
    with pytest.raises(FormatError, match="no JSON"):
        _run(merge, folder / "bank.pem", "-o", folder / "model.json")
    with pytest.raises(ConsentError, match="wanted --consent"):
        _run(merge, "--consent", shop, "-o", folder / "x")
    with pytest.raises(ConsentError, match="go with --consent"):
        _run(merge, shop, "--note", "x", "-o", folder / "x")


def test_the_active_party_sees_its_own_splits_only(folder, capsys) -> None:
    assert _run(inspect, folder / "bank.json", "--all") == 0
    shown = capsys.readouterr().out
    assert "income <" in shown
    assert "shop: record 0, masked" in shown
    assert "basket" not in shown
    assert "visits" not in shown


def test_both_shares_show_everything(folder, result, capsys) -> None:
    assert _run(inspect, folder / "bank.json", folder / "shop.json", "--tree", "2") == 0
    shown = capsys.readouterr().out
    assert "masked" not in shown
    assert "tree 2 (round 2)" in shown
    known = {"bank": result.active_share.records, "shop": result.passive_shares["shop"].records}
    lines = draw_tree(result.active_share, 2, known)
    tree = result.active_share.trees[2]
    assert len(lines) == 1 + tree.n_nodes
    assert sum("leaf" in line for line in lines) == (tree.party == LEAF).sum()


def test_a_passive_party_sees_its_records(folder, result, capsys) -> None:
    assert _run(inspect, folder / "shop.json") == 0
    shown = capsys.readouterr().out.splitlines()
    assert len(shown) == 2 + len(result.passive_shares["shop"].records)
    with pytest.raises(ShareMismatchError, match="holds no trees"):
        _run(inspect, folder / "shop.json", "--tree", "0")
    with pytest.raises(ShareMismatchError, match="trees 0 to 2"):
        _run(inspect, folder / "bank.json", "--tree", "3")


def test_json(folder, result, capsys) -> None:
    assert _run(inspect, folder / "bank.json", "--json", "-") == 0
    document = json.loads(capsys.readouterr().out)
    pooled = FittedModel(result.active_share, result.passive_shares).pooled
    assert [len(tree) for tree in document["trees"]] == np.diff(pooled.tree_start).tolist()
    nodes = [node for tree in document["trees"] for node in tree]
    for place, node in enumerate(nodes):
        assert ("feature" in node) == (node.get("party") == "bank")
        if "feature" in node:
            assert node["feature"] == pooled.feature_names[pooled.feature[place]]
            assert node["cut"] == pooled.threshold[place]
    by_party = document["importance"]["parties"]
    assert by_party == party_importance(result.active_share)
    assert sum(entry["share_of_gain"] for entry in by_party.values()) == pytest.approx(1)
    for place, party in enumerate(PARTIES):
        assert by_party[party]["total_gain"] == pytest.approx(pooled.gain[pooled.party == place].sum())
    assert _run(inspect, folder / "shop.json", "--json", folder / "out.json") == 0
    assert set(json.loads((folder / "out.json").read_text())["records"]) == {"shop"}

"""The private last stage of `ldp`: it helps, it stays with the active party, and nobody is sent anything of it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from simulated_runs import fit_tables
from vfxgb import VFXGBClassifier, VFXGBRegressor
from vfxgb.data.table import Table
from vfxgb.errors import (
    ColumnNameError,
    ExportError,
    FormatError,
    ProtocolParameterError,
    ShareMismatchError,
    VfxgbError,
)
from vfxgb.metric import make_metrics
from vfxgb.model.file import load_share, save_share
from vfxgb.model.fitted import FittedModel
from vfxgb.model.shares import ActiveShare
from vfxgb.params import TrainParams
from vfxgb.predict import joint
from vfxgb.train import active_checkpoints, passive_checkpoints, simulate
from vfxgb.transport.channel import Channel

# Labels are all but unchanged: two runs grow the same trees.
CERTAIN = {"epsilon": 1000.0}
SMALL = {"n_estimators": 4, "max_depth": 3, "max_bin": 16, "n_jobs": 1}
PARTIES = {"bank": [0, 1], "shop": [2, 3]}


def table(n: int = 400, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Four columns, and a label that columns of both parties are needed for."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)).astype(np.float32)
    return X, (X[:, 0] + X[:, 2] + 0.3 * rng.normal(size=n) > 0).astype(int)


def classifier(**given: Any) -> VFXGBClassifier:
    return VFXGBClassifier(**SMALL, parties=PARTIES, active="bank", protocol="ldp", protocol_params=given)


def auc(y: np.ndarray, score: np.ndarray) -> float:
    (metric,) = make_metrics("auc", "auc")
    return float(metric(y, score, None))


@pytest.fixture
def sent(monkeypatch) -> list[tuple[str, bytes]]:
    """(type, bytes) of every message of any party, in runs whose ids and salts are the same each time."""
    messages: list[tuple[str, bytes]] = []
    send = Channel.send_encoded

    def noted(self: Channel, message: Any, payload: Any) -> None:
        messages.append((message.TAG, bytes(payload)))
        send(self, message, payload)

    monkeypatch.setattr(Channel, "send_encoded", noted)
    for module in (simulate, joint):
        monkeypatch.setattr(module, "random_bytes", lambda count: b"\1" * count)
    for keeper in (active_checkpoints, passive_checkpoints):
        monkeypatch.setattr(keeper, "new_salt", lambda: "01" * 32)
    return messages


def test_all_messages_are_those_of_a_run_without_it(sent) -> None:
    """Byte for byte, in training and in prediction: nobody else can tell that there is a stage."""
    X, y = table()
    told = []
    for rounds in (0, 7):
        sent.clear()
        model = classifier(**CERTAIN, private_stage_trees=rounds).fit(X, y)
        model.predict_proba(X)
        # The parties are threads: what one sends has an order, what all send together has none.
        told.append(sorted(sent))
        stage = model.model_.active_share.private_stage
        assert (0 if stage is None else stage.n_rounds) == rounds
    assert {"setup", "ldp-gradients", "sealed", "open-prediction"} <= {tag for tag, _ in told[0]}
    assert told[0] == told[1]


def test_true_labels_make_up_for_noise_on_rows_not_seen() -> None:
    """Better than the joint model of noisy labels, and than the bank without the shop; means over three draws."""
    X, _ = table(6_000)
    y = (X[:, 0] * X[:, 1] + X[:, 2] > 0).astype(int)
    train, test = slice(0, 4_000), slice(4_000, None)
    sizes = SMALL | {"n_estimators": 30, "learning_rate": 0.2, "reg_lambda": 50.0}
    scores = []
    for _ in range(3):
        model = classifier(epsilon=0.2, private_stage_trees=30).set_params(**sizes).fit(X[train], y[train])
        private = auc(y[test], model.predict_proba(X[test])[:, 1])
        model.model_ = FittedModel(model.model_.active_share.joint, model.model_.passive_shares)
        scores.append((private, auc(y[test], model.predict_proba(X[test])[:, 1])))
    private, noisy = np.mean(scores, axis=0)
    alone = VFXGBClassifier(**sizes).fit(X[train, :2], y[train])
    assert private > noisy
    assert private > auc(y[test], alone.predict_proba(X[test, :2])[:, 1])


def test_it_knows_the_others_columns_by_the_joint_score() -> None:
    """The label is the shop's alone: what the bank's stage knows of it, it has from the score."""
    X, _ = table(2_000)
    y = (X[:, 2] > 0).astype(int)
    model = classifier(epsilon=3.0, private_stage_trees=5).fit(X[:1_500], y[:1_500])
    stage = model.model_.active_share.private_stage
    assert stage is not None
    assert stage.records.features == ("f0", "f1", "joint score")
    assert 2 in stage.records.feature
    assert auc(y[1_500:], model.predict_proba(X[1_500:])[:, 1]) > 0.95


def test_the_ledger_says_that_nothing_of_it_was_sent() -> None:
    X, y = table()
    text = classifier(**CERTAIN, private_stage_trees=3).fit(X, y).ledger_.text()
    assert "bank trained 3 rounds of its own after the last message, with true labels: nothing of them was sent" in text
    assert "outside of every epsilon" in text
    assert "rounds of its own" not in classifier(**CERTAIN).fit(X, y).ledger_.text()


@pytest.mark.parametrize("classes", [2, 3])
def test_files_hold_it_and_only_the_active_partys(classes: int, tmp_path: Path) -> None:
    X, y = table()
    y = y + (classes == 3) * (X[:, 1] > 0.5)
    model = classifier(**CERTAIN, private_stage_trees=3).fit(X, y)
    active = model.model_.active_share
    save_share(active, tmp_path / "bank.json")
    save_share(model.model_.passive_shares["shop"], tmp_path / "shop.json")
    read = load_share(tmp_path / "bank.json")
    assert isinstance(read, ActiveShare)
    tables = {
        party: Table.read(X[:, columns], names=[f"f{i}" for i in columns], party=party)
        for party, columns in PARTIES.items()
    }
    other = load_share(tmp_path / "shop.json")
    found = joint.predict_margin(read, {"shop": other}, tables)
    assert found.tolist() == joint.predict_margin(active, model.model_.passive_shares, tables).tolist()
    without = joint.predict_margin(read.joint, {"shop": other}, tables)
    assert without.shape == found.shape
    assert (without != found).any()
    # With a number of rounds it is the joint model that is asked for.
    assert joint.predict_margin(read, {"shop": other}, tables, n_rounds=4).tolist() == without.tolist()
    assert "joint score" in (tmp_path / "bank.json").read_text()
    assert "joint score" not in (tmp_path / "shop.json").read_text()
    save_share(read.joint, tmp_path / "joint.json")
    assert "joint score" not in (tmp_path / "joint.json").read_text()


def test_a_file_whose_stage_was_altered_is_refused(tmp_path: Path) -> None:
    X, y = table()
    model = classifier(**CERTAIN, private_stage_trees=2).fit(X, y)
    share = model.model_.active_share
    assert share.private_stage is not None
    path = tmp_path / "bank.json"
    save_share(share, path)
    weight = repr(float(share.private_stage.trees[0].value[-1]))
    text = path.read_text()
    assert text.count(weight) == 1
    path.write_text(text.replace(weight, "0.125"))
    with pytest.raises(ShareMismatchError, match="digest"):
        load_share(path)
    path.write_text(text.replace('"joint score"', '"f0"'))
    with pytest.raises((ShareMismatchError, FormatError)):
        load_share(path)


def test_every_kind_of_label() -> None:
    X, y = table(600)
    numbers = X[:, 0] + X[:, 2]
    given = {"epsilon": 1.0, "clip": 4.0, "private_stage_trees": 30}
    model = VFXGBRegressor(**SMALL, parties=PARTIES, active="bank", protocol="ldp", protocol_params=given)
    noisy = VFXGBRegressor(
        **SMALL, parties=PARTIES, active="bank", protocol="ldp", protocol_params={**given, "private_stage_trees": 0}
    )
    assert model.fit(X, numbers).score(X, numbers) > noisy.fit(X, numbers).score(X, numbers)
    for mechanism in ("laplace", "hybrid"):
        per_tree = classifier(mechanism=mechanism, epsilon=1.0, private_stage_trees=20).fit(X, y)
        assert auc(y, per_tree.predict_proba(X)[:, 1]) > 0.75


def test_missing_values_monotone_columns_and_weights() -> None:
    X, y = table(600)
    X[::7, 0] = np.nan
    for strategy in ("learned", "mean", "probabilistic"):
        model = classifier(**CERTAIN, public_weights=True, private_stage_trees=5)
        model.set_params(missing_strategy=strategy, monotone_constraints=(1, 0, 1, 0))
        model.fit(X, y, sample_weight=np.linspace(0.5, 1.5, 600), eval_set=[(X[:50], y[:50])])
        stage = model.model_.active_share.private_stage
        assert stage is not None
        assert auc(y, model.predict_proba(X)[:, 1]) > 0.85


def test_rows_in_files_are_predicted_alike(tmp_path: Path) -> None:
    pandas = pytest.importorskip("pandas")
    pytest.importorskip("pyarrow")
    X, y = table()
    frame = pandas.DataFrame(X, columns=["a", "b", "c", "d"])
    parties = {"bank": ["a", "b"], "shop": ["c", "d"]}
    model = classifier(**CERTAIN, private_stage_trees=4).set_params(parties=parties).fit(frame, y)
    for party, columns in parties.items():
        frame[columns].to_parquet(tmp_path / f"{party}.parquet")
    wanted = model.predict_proba(frame)
    model.set_params(memory_limit="300MB", shards=3)
    found = model.predict_proba({party: tmp_path / f"{party}.parquet" for party in parties})
    assert found.tolist() == wanted.tolist()


def test_apply_and_importances_are_the_joint_models() -> None:
    X, y = table()
    one, other = (classifier(**CERTAIN, private_stage_trees=rounds).fit(X, y) for rounds in (0, 5))
    assert one.apply(X).tolist() == other.apply(X).tolist()
    assert one.feature_importances_.tolist() == other.feature_importances_.tolist()
    assert "private last stage of 5 rounds" in repr(other.model_)


# Where it cannot work


def test_an_export_would_give_it_away(tmp_path: Path) -> None:
    X, y = table()
    model = classifier(**CERTAIN, private_stage_trees=2).fit(X, y)
    with pytest.raises(ExportError, match=r"private last stage.*joint"):
        model.export_xgboost(tmp_path / "model.json")
    FittedModel(model.model_.active_share.joint, model.model_.passive_shares).export_xgboost(tmp_path / "model.json")


def test_refused_next_to_early_stopping(sent) -> None:
    X, y = table()
    model = classifier(**CERTAIN, private_stage_trees=2).set_params(early_stopping_rounds=2)
    with pytest.raises(ProtocolParameterError, match="early_stopping_rounds"):
        model.fit(X, y, eval_set=[(X, y)])
    assert not [tag for tag, _ in sent if tag == "setup"]


def test_refused_without_another_party() -> None:
    X, y = table()
    model = VFXGBClassifier(**SMALL, protocol="ldp", protocol_params={**CERTAIN, "private_stage_trees": 2})
    with pytest.raises(ProtocolParameterError, match="no other party"):
        model.fit(X, y)


def test_refused_where_a_column_has_the_name_of_the_score() -> None:
    X, y = table(100)
    tables = {
        "bank": Table.read(X[:, :2], names=["a", "joint score"], party="bank"),
        "shop": Table.read(X[:, 2:], names=["c", "d"], party="shop"),
    }
    params = TrainParams(objective="binary:logistic", **SMALL)
    given = {**CERTAIN, "private_stage_trees": 2}
    with pytest.raises(ColumnNameError, match="'joint score' already"):
        fit_tables(tables, "bank", y, None, 100, params, protocol="ldp", protocol_params=given)


@pytest.mark.parametrize("value", [-1, 1.5, "many"])
def test_a_bad_number_is_refused(value: Any) -> None:
    X, y = table(50)
    with pytest.raises(VfxgbError, match="private_stage_trees"):
        classifier(**CERTAIN, private_stage_trees=value).fit(X, y)

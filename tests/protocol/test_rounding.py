"""Stochastic rounding: one model for all exact protocols, wherever rows are; leaves of true gradients; refusals."""

import numpy as np
import pytest

from vfxgb import FedXGBClassifier, VFXGBClassifier, VFXGBRegressor
from vfxgb.errors import ParameterError, UnknownNameError
from vfxgb.model.pooled import PooledModel
from vfxgb.protocols import protocol_by_name

PARTIES = {"bank": [0, 1], "shop": [2, 3]}
SETTINGS = {"n_estimators": 3, "max_depth": 3, "max_bin": 16, "n_jobs": 1, "random_state": 5, "parties": PARTIES}


def table(rows: int = 600) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(8)
    X = rng.normal(size=(rows, 4)).astype(np.float32)
    X[rng.random(X.shape) < 0.05] = np.nan
    y = (np.nan_to_num(X[:, 0]) + np.nan_to_num(X[:, 2] * X[:, 3]) + 0.4 * rng.normal(size=rows) > 0).astype(int)
    return X, y


def fit(protocol: str, bits: int, rounding: str = "stochastic", **settings) -> VFXGBClassifier:
    params = {**protocol_by_name(protocol).quick_params, "precision_bits": bits}
    model = VFXGBClassifier(protocol=protocol, protocol_params=params, rounding=rounding, **{**SETTINGS, **settings})
    return model.fit(*table())


def trees(model: VFXGBClassifier) -> list[list]:
    pooled = PooledModel(model.model_.active_share, model.model_.passive_shares)
    return [getattr(pooled, name).tolist() for name in ("party", "feature", "left", "value", "gain", "cover")]


@pytest.mark.parametrize("exact", ["ot_shares", "batch_he", "secureboost"])
@pytest.mark.parametrize("bits", [4, 8])
def test_exact_protocols_round_alike(exact: str, bits: int) -> None:
    assert trees(fit(exact, bits)) == trees(fit("plain", bits))


@pytest.mark.parametrize("settings", [{"subsample": 0.6}, {"sampling_method": "goss"}])
def test_rows_in_shards_round_alike(settings: dict, tmp_path) -> None:
    whole = fit("plain", 6, **settings)
    divided = fit("plain", 6, memory_limit="1GB", shards=3, engine_folder=tmp_path, **settings)
    assert trees(divided) == trees(whole)


@pytest.mark.parametrize("exact", ["ot_shares", "batch_he", "secureboost"])
@pytest.mark.parametrize(("bits", "rounding"), [(1, "stochastic"), (8, "stochastic"), (24, "nearest")])
def test_exact_protocols_agree_on_weighted_rows_that_are_almost_right(exact: str, bits: int, rounding: str) -> None:
    """Weights far apart and margins that fit: then no bound of the loss says how large h is next to |g|."""
    X, _ = table()
    y = (np.nan_to_num(X[:, 0]) > 0).astype(int)
    weights = np.where(np.arange(len(y)) % 7 == 0, 40.0, 0.01)
    fitted = []
    for protocol in (exact, "plain"):
        params = {**protocol_by_name(protocol).quick_params, "precision_bits": bits}
        model = VFXGBClassifier(
            protocol=protocol, protocol_params=params, rounding=rounding, **{**SETTINGS, "learning_rate": 1.0}
        )
        fitted.append(trees(model.fit(X, y, sample_weight=weights)))
    assert fitted[0] == fitted[1]
    assert len(fitted[0][0]) > 3


def test_the_seed_decides_how_gradients_are_rounded() -> None:
    assert trees(fit("plain", 4)) == trees(fit("plain", 4))
    assert trees(fit("plain", 4)) != trees(fit("plain", 4, random_state=6))


def test_leaf_weights_are_those_of_the_true_gradients() -> None:
    """With one bit the splits are poor, and still every leaf has the weight of its rows' own gradients."""
    X, _ = table(400)
    X = np.nan_to_num(X)
    y = X[:, 0] + X[:, 2]
    settings = {**SETTINGS, "n_estimators": 1, "learning_rate": 1.0, "base_score": 0.0, "reg_lambda": 2.0}
    model = VFXGBRegressor(
        protocol="plain", protocol_params={"precision_bits": 1}, rounding="stochastic", **settings
    ).fit(X, y)
    predicted = model.predict(X)
    assert len(np.unique(predicted)) > 3
    for value in np.unique(predicted):
        rows = predicted == value
        np.testing.assert_allclose(value, y[rows].sum() / (rows.sum() + 2.0), rtol=1e-5)


def test_leaf_weights_keep_monotone_constraints() -> None:
    X, _ = table(500)
    X = np.nan_to_num(X)
    rng = np.random.default_rng(0)
    y = X[:, 2] + 0.5 * np.sin(6 * X[:, 2]) + rng.normal(size=len(X))
    settings = {**SETTINGS, "n_estimators": 8, "max_depth": 4, "monotone_constraints": [0, 0, 1, 0]}
    model = VFXGBRegressor(
        protocol="plain", protocol_params={"precision_bits": 3}, rounding="stochastic", **settings
    ).fit(X, y)
    for row in X[:20]:
        grid = np.tile(row, (50, 1))
        grid[:, 2] = np.linspace(-3, 3, 50)
        assert (np.diff(model.predict(grid)) >= 0).all()
    # The constraint is one that the data break.
    free = VFXGBRegressor(protocol="plain", **{**settings, "monotone_constraints": None}).fit(X, y)
    grid = np.zeros((200, 4), dtype=np.float32)
    grid[:, 2] = np.linspace(-3, 3, 200)
    assert (np.diff(free.predict(grid)) < 0).any()


def test_what_cannot_be_rounded_is_refused() -> None:
    X, y = table()
    with pytest.raises(ParameterError, match="rounding='stochastic' with protocol 'ldp', wanted 'nearest'"):
        VFXGBClassifier(protocol="ldp", protocol_params={"epsilon": 4.0}, **{**SETTINGS, "rounding": "stochastic"}).fit(
            X, y
        )
    with pytest.raises(ParameterError, match="rounding='up', wanted one of 'nearest', 'stochastic'"):
        VFXGBClassifier(protocol="plain", **{**SETTINGS, "rounding": "up"}).fit(X, y)
    with pytest.raises(UnknownNameError, match="rounding"):
        FedXGBClassifier(rounding="stochastic").fit([X[:300], X[300:]], [y[:300], y[300:]])

"""Default parameters grow real trees, also on tables in which a row is alone in a cell; and what smm2 does about it."""

import warnings

import numpy as np
import pytest

from protocol_variants import params_of, protocol_of, settings_of, spec_of
from vfxgb import VFXGBClassifier
from vfxgb.audit.auditor import view_of
from vfxgb.audit.smm import exchanges
from vfxgb.audit.truth import RELATIVE, Truth
from vfxgb.bench.real_trees import splits_by_party
from vfxgb.errors import ProtocolParameterError, RefusedRootWarning
from vfxgb.model.pooled import PooledModel
from vfxgb.protocols import make_protocol_params
from vfxgb.protocols.scored.messages import ScoreLevel

pytestmark = pytest.mark.filterwarnings("ignore::vfxgb.errors.InsecureProtocolWarning")

PARTIES = {"bank": [0, 1, 2], "shop": [3, 4, 5]}
SMM2 = {"insecure": True, "r": 8, "l1": 4, "l2": 4}


def lone_row_table(rows: int = 700) -> tuple[np.ndarray, np.ndarray]:
    """Coarse values, so that no other row is alone; row 0 is far out in one column of each party."""
    rng = np.random.default_rng(11)
    X = rng.integers(0, 5, (rows, 6)).astype(np.float32)
    X[0, 0] = X[0, 3] = -40.0
    y = (X[:, 0] + X[:, 3] - X[:, 4] * (X[:, 1] > 2) + rng.normal(size=rows) > 3.0).astype(int)
    return X, y


def exposing_table(rows: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Large cells of two columns of the shop that differ by row 0 alone: nobody is alone, and row 0 is exposed."""
    X, y = lone_row_table(rows)
    X[0, 0] = X[0, 3] = 2.0
    X[:, 4] = np.where(X[:, 3] == 2.0, 2.0, 7.0)
    X[0, 4] = 7.0
    return X, y


def fit(X, y, protocol: str, params: dict | None, **settings) -> VFXGBClassifier:
    given = {"n_estimators": 2, "max_depth": 3, "max_bin": 16, "n_jobs": 1, **settings}
    return VFXGBClassifier(parties=PARTIES, protocol=protocol, protocol_params=params, **given).fit(X, y)


def splits(model: VFXGBClassifier) -> list[dict[str, int]]:
    share = model.model_.active_share
    return splits_by_party(share.trees, share.parties)


def trees(model: VFXGBClassifier) -> dict:
    pooled = PooledModel(model.model_.active_share, model.model_.passive_shares)
    names = ("party", "feature", "default_left", "left", "right", "value", "gain", "cover")
    return {name: getattr(pooled, name).tolist() for name in names} | {
        "threshold": pooled.threshold[pooled.feature >= 0].tolist()
    }


def test_every_protocol_grows_trees_with_its_default_parameters(protocol) -> None:
    """With quick ones where a protocol has no default for something (epsilon, calibration)."""
    spec, params = spec_of(protocol), settings_of(protocol)
    if spec.security == "broken":
        params["insecure"] = True
    try:
        make_protocol_params(spec, params)
    except ProtocolParameterError:
        params = params_of(protocol)
    with warnings.catch_warnings():
        warnings.simplefilter("error", RefusedRootWarning)
        found = splits(fit(*lone_row_table(260), protocol_of(protocol), params))
    assert all(sum(tree.values()) > 0 for tree in found)
    if spec.exact:
        assert all(sum(tree[party] for tree in found) > 0 for party in PARTIES)


@pytest.mark.parametrize("make", [lone_row_table, exposing_table])
def test_smm2_keeps_the_splits_of_both_parties(make) -> None:
    """No node is refused, and no gradient follows from one answer, although row 0 would be zero in every vector.

    An answer W = g - Z Z^T g leaves g_i open by |Z_i| |Z^T g|, Z_i what the chosen vectors have at row i. A gradient
    follows from it if that is less than what the audit takes for the right gradient. Z is a random subspace of the d
    dimensions that are orthogonal to M*, so |Z_i|^2 is 1 - h_i times a Beta(r'/2, (d - r')/2) variable, h_i the
    leverage of the row (tests/unit/smm/test_kernel.py). It is least for r' = 2, where it is below x with probability
    d x / (2 - 2 h_i). Here 1 - h_i > 1/3, d < 700 and |Z^T g| is about the largest gradient, so that x = 1e-12, and the
    14 nodes of a run, of 700 rows at most, fail by chance less than once in a hundred thousand runs.
    """
    model = fit(*make(), "smm2", SMM2, record=True)
    assert all(tree["bank"] > 0 for tree in splits(model))
    assert sum(tree["shop"] for tree in splits(model)) > 0
    assert "refused nodes" not in model.timings_.operations
    truth = Truth(model.transcript_)
    view = view_of(model.transcript_, "shop", truth)
    answered = [
        exchange for exchange in exchanges(view, "bank", "smm2-basis", "smm2-products") if exchange.products is not None
    ]
    assert {exchange.node.depth for exchange in answered} == {0, 1, 2}
    for exchange in answered:
        pairs = truth.note("bank", "pairs", exchange.node.round, exchange.node.tree)
        gradients = pairs[exchange.node.rows, 0] * float(truth.note("bank", "step", exchange.node.round)[0])
        vectors = exchange.mask()
        hiding = vectors @ gradients
        np.testing.assert_allclose(exchange.products[0], gradients - hiding @ vectors, atol=1e-9)
        left_open = np.linalg.norm(vectors, axis=0) * np.linalg.norm(hiding)
        assert left_open.min() > RELATIVE * np.abs(gradients).max()


def test_merged_cells_give_no_gradient_to_the_attacks() -> None:
    """A5 on roots alone finds no gradient, as on a table without such a row; A0 finds what it finds there."""
    found = {}
    for name, lone in (("lone", True), ("ordinary", False)):
        X, y = lone_row_table(400)
        if not lone:
            X[0] = X[1]
        report = fit(X, y, "smm2", SMM2, record=True, max_depth=1).audit(["smm2-read", "smm2-linear"])
        assert all(finding.success == 0.0 for finding in report.of("smm2-linear"))
        found[name] = max(finding.success for finding in report.of("smm2-read"))
    assert found["lone"] <= found["ordinary"] == 1.0


def test_merged_cells_are_those_of_min_bucket_rows() -> None:
    """The model is plain's with cells of at least two rows, since no other cell holds a single one here."""
    X, y = lone_row_table(900)
    X[0, 0] = 2.0
    settings = {"max_depth": 2, "min_child_weight": 8.0}
    found = trees(fit(X, y, "smm2", SMM2, **settings))
    assert found == trees(fit(X, y, "plain", {"precision_bits": 30}, min_bucket_rows=2, **settings))
    assert {0, 1} <= set(found["party"])
    X[0] = X[1]
    assert trees(fit(X, y, "smm2", SMM2, max_depth=1)) == trees(fit(X, y, "plain", {"precision_bits": 30}, max_depth=1))


def test_a_refused_root_warns_and_keeps_the_active_party_at_work() -> None:
    X, y = lone_row_table(110)
    with pytest.warns(RefusedRootWarning, match="shop proposes no split at the root of tree 0 of round 0") as raised:
        model = fit(X, y, "smm2", {"insecure": True}, record=True)
    (warning,) = [warning for warning in raised if issubclass(warning.category, RefusedRootWarning)]
    assert "small_nodes='batch_he'" in str(warning.message)
    assert all(tree["bank"] > 0 and tree["shop"] == 0 for tree in splits(model))
    # Nor is the shop told the sums of nodes in which it takes no part.
    view = view_of(model.transcript_, "shop", Truth(model.transcript_))
    totals = [tree.totals for message in view.tagged("bank", ScoreLevel.TAG) for tree in message.trees]
    assert totals
    assert not any(np.frombuffer(total, dtype=np.int64).any() for total in totals)


def test_models_of_smm2_do_not_depend_on_secret_draws() -> None:
    X, y = exposing_table()
    first, second = (trees(fit(X, y, "smm2", SMM2)) for _ in range(2))
    assert first == second

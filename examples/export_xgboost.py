"""Export the pooled model to XGBoost and compare with XGBoost trained on the pooled table.

Exporting shows every party's cut points to whoever has the file: in a simulation that is you; real parties each sign
their consent (`vfxgb merge`). Models of every protocol can be exported; that XGBoost itself grows the same trees needs
an exact one, such as `ot_shares`. Needs `pip install xgboost`.
"""

import tempfile
from pathlib import Path

import numpy as np
import xgboost

from vfxgb import VFXGBClassifier


def main() -> None:
    """The same cut points give XGBoost's own trees; the exported file predicts the same."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(2000, 6)).astype(np.float32)
    y = (X[:, 0] * X[:, 3] + X[:, 1] + 0.5 * rng.normal(size=2000) > 0).astype(int)
    settings = {"n_estimators": 8, "max_depth": 4, "learning_rate": 0.2, "max_bin": 64}

    cuts = xgboost.QuantileDMatrix(X, y, max_bin=64).get_quantile_cut()
    ours = VFXGBClassifier(
        **settings, parties={"bank": [0, 1, 2], "shop": [3, 4, 5]}, active="bank", protocol="ot_shares"
    ).fit(X, y, cuts=cuts)
    theirs = xgboost.XGBClassifier(**settings, tree_method="hist", n_jobs=1).fit(X, y)

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        ours.export_xgboost(path)
        exported = xgboost.XGBClassifier()
        exported.load_model(path)
    own = ours.predict_proba(X)[:, 1]
    difference = {
        "exported file": float(np.abs(exported.predict_proba(X)[:, 1] - own).max()),
        "xgboost on pooled data": float(np.abs(theirs.predict_proba(X)[:, 1] - own).max()),
    }
    for name, largest in difference.items():
        print(f"{name}: predictions differ by at most {largest:.1e}")

    splits = ours.model_.to_dataframe()
    print(splits.head(4).to_string())
    assert max(difference.values()) < 1e-4


if __name__ == "__main__":
    main()

"""scikit-learn's tools over two parties: cross-validation, a grid of parameters, a pipeline.

Needs `pip install scikit-learn`. The estimators take numpy arrays and keep to scikit-learn's conventions, so what works
with xgboost's own estimators works here. Choose parameters with protocol "plain", which is fastest, and with the rule
of splits that `sealed` has; train the final model with `sealed`. A search with `ldp` needs a `privacy_dir`, or every
fit releases the labels anew (label_privacy.py).
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, cross_val_score

from vfxgb import VFXGBClassifier


def main() -> None:
    """Choose depth and learning rate, then train the chosen model under protection."""
    X, y = load_breast_cancer(return_X_y=True)
    parties = {"clinic": list(range(10)), "laboratory": list(range(10, 30))}
    settings = {"n_estimators": 6, "max_bin": 32, "n_jobs": 1, "split_rule": "centred"}
    base = VFXGBClassifier(**settings, parties=parties, active="clinic", protocol="plain")

    scores = cross_val_score(base, X, y, cv=3, scoring="roc_auc")
    print(f"AUC over 3 folds: {scores.mean():.3f} +- {scores.std():.3f}")

    search = GridSearchCV(base, {"max_depth": [2, 4], "learning_rate": [0.2, 0.5]}, cv=3, scoring="roc_auc")
    search.fit(X, y)
    print(f"best of the grid: {search.best_params_}, AUC {search.best_score_:.3f}")

    final = VFXGBClassifier(**{**search.best_estimator_.get_params(), "protocol": "sealed"}).fit(X, y)
    print(final.ledger_)

    assert search.best_score_ > 0.97
    assert final.score(X, y) > 0.97


if __name__ == "__main__":
    main()

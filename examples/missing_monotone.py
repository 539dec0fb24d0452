"""Missing values and monotone constraints, with columns at two parties.

A row whose split value is missing goes where training found it to belong. With a constraint the score may only rise, or
only fall, with a feature: a loan must not be refused because the applicant earns more. Constraints need a protocol that
opens sums: `sealed` refuses them, since the active party would have to know the direction of the other's features.
"""

import numpy as np

from vfxgb import VFXGBClassifier


def main() -> None:
    """Train on a table with holes; check the direction of the constrained feature at every row."""
    rng = np.random.default_rng(11)
    n = 2000
    columns = ["income", "age", "visits", "returns"]
    X = np.column_stack([rng.normal(3, 1, n), rng.integers(18, 80, n), rng.poisson(5, n), rng.poisson(1, n)])
    y = (1.5 * X[:, 3] - 0.8 * X[:, 0] + rng.normal(0, 2, n) > 0).astype(int)
    X[rng.random(X.shape) < 0.2] = np.nan
    parties = {"bank": [0, 1], "shop": [2, 3]}
    settings = {"n_estimators": 15, "max_depth": 4, "parties": parties, "active": "bank", "protocol": "ot_shares"}

    free = VFXGBClassifier(**settings).fit(X[:1500], y[:1500])
    bound = VFXGBClassifier(**settings, monotone_constraints=[-1, 0, 0, 1]).fit(X[:1500], y[:1500])
    for name, model in (("free", free), ("constrained", bound)):
        print(
            f"{name:<12} accuracy {model.score(X[1500:], y[1500:]):.3f}, risk rises with income in "
            f"{rises(model, X[1500:], 0)} of 500 rows, falls with returns in {rises(model, X[1500:], 3, -1)}"
        )
    print("columns:", ", ".join(columns))

    assert rises(free, X[1500:], 0) > 0
    assert rises(bound, X[1500:], 0) == 0
    assert rises(bound, X[1500:], 3, -1) == 0
    for strategy in ("median", "probabilistic"):
        model = VFXGBClassifier(**settings, missing_strategy=strategy).fit(X[:1500], y[:1500])
        print(f"missing_strategy={strategy!r}: accuracy {model.score(X[1500:], y[1500:]):.3f}")
        assert model.score(X[1500:], y[1500:]) > 0.6


def rises(model: VFXGBClassifier, X: np.ndarray, column: int, sign: int = 1) -> int:
    """Rows whose risk goes up (sign 1) or down (-1) somewhere as the column grows, the other columns being equal."""
    risks = []
    for value in np.nanquantile(X[:, column], np.linspace(0, 1, 9)):
        changed = X.copy()
        changed[:, column] = value
        risks.append(model.predict_proba(changed)[:, 1])
    return int((sign * np.diff(risks, axis=0) > 1e-9).any(axis=0).sum())


if __name__ == "__main__":
    main()

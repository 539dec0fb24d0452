"""Many users hold rows of one table; some leave in the middle. Secure aggregation goes on without them.

The server learns sums over users and never one user's own. `dropout` makes users leave: at a rate, or one by one.
"""

import numpy as np

from vfxgb import FedXGBClassifier
from vfxgb.horizontal.dropout import Drop


def main() -> None:
    """Twelve users: nobody leaves, a tenth leaves every other round, two leave at a given moment."""
    rng = np.random.default_rng(2)
    X = rng.normal(size=(2600, 4))
    y = (X[:, 0] + X[:, 2] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=2600) > 0).astype(int)
    users = [(X[i : i + 130], y[i : i + 130]) for i in range(0, 1560, 130)]
    X_test, y_test = X[1560:], y[1560:]

    cases = {
        "nobody leaves": None,
        "a tenth leaves every other round": {"rate": 0.1, "every": 2},
        "users 3 and 7 leave": [Drop(user=3, round=1), Drop(user=7, round=2, depth=1, stage="unmask", until=4)],
    }
    settings = {"n_estimators": 4, "max_depth": 3, "max_bin": 16, "learning_rate": 0.6}
    models = {}
    for name, dropout in cases.items():
        clf = models[name] = FedXGBClassifier(**settings, dropout=dropout).fit(users)
        sent = sum(traffic.total_bytes for traffic in clf.traffic_.values())
        print(f"{name}: accuracy {clf.score(X_test, y_test):.3f}, {sent / 1e6:.1f} MB")
        assert clf.score(X_test, y_test) > 0.75
    print(clf.ledger_)

    # With nobody away the model is that of the pooled rows, whichever aggregator made it.
    plain = FedXGBClassifier(**settings, aggregator="plain").fit(users)
    assert np.array_equal(models["nobody leaves"].predict_proba(X_test), plain.predict_proba(X_test))


if __name__ == "__main__":
    main()

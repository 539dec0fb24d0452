"""Labels under differential privacy: protocol `ldp`, and the accountant that says what a run has spent.

With `epsilon` the shop cannot tell any label from its opposite by more than a factor e^epsilon, whatever it does with
what it received and however long the training was: labels are randomised once, before anything is made of them.
"""

import numpy as np

from vfxgb import VFXGBClassifier
from vfxgb.dp import budget


def main() -> None:
    """Accuracy against epsilon, the total that the ledger prints, and budgets for noise on gradients."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 4))
    y = (X[:, 0] + X[:, 2] + 0.3 * rng.normal(size=4000) > 0).astype(int)
    train, test = slice(0, 3000), slice(3000, None)
    settings = {"n_estimators": 10, "max_depth": 3, "max_bin": 32, "parties": {"bank": [0, 1], "shop": [2, 3]}}

    accuracy = {}
    for epsilon in (0.5, 1.0, 4.0):
        clf = VFXGBClassifier(**settings, active="bank", protocol="ldp", protocol_params={"epsilon": epsilon})
        clf.fit(X[train], y[train])
        accuracy[epsilon] = clf.score(X[test], y[test])
        total = clf.ledger_.privacy.total("shop")
        print(
            f"epsilon {epsilon}: accuracy {accuracy[epsilon]:.3f}; {total.releases} release, epsilon in total "
            f"{total.epsilon_total:g}"
        )
        assert total.epsilon_total == epsilon
    print(clf.ledger_.privacy.summary())
    assert accuracy[4.0] > 0.85
    assert accuracy[4.0] >= accuracy[0.5]

    # Noise on gradients is drawn once per tree; total_epsilon divides a budget among the trees.
    noisy = {"mechanism": "piecewise", "total_epsilon": 8.0}
    clf = VFXGBClassifier(**settings, active="bank", protocol="ldp", protocol_params=noisy).fit(X[train], y[train])
    total = clf.ledger_.privacy.total("shop")
    print(
        f"piecewise noise, {total.releases} trees of epsilon {total.epsilon_per_release:.2f} each: total "
        f"{total.epsilon_total:.2f}, accuracy {clf.score(X[test], y[test]):.3f}"
    )
    assert total.epsilon_total <= 8.0 + 1e-9
    longer = budget(8.0, 100, composition="advanced")
    print(f"a hundred trees at a total of 8 get epsilon {longer.epsilon_per_release:.2f} each, by advanced composition")


if __name__ == "__main__":
    main()

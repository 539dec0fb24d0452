"""Labels under differential privacy: protocol `ldp`, and the accountant that says what a run has spent.

With `epsilon` the shop cannot tell any label from its opposite by more than a factor e^epsilon, whatever it does with
what it received and however long the training was: labels are randomised once, before anything is made of them.

That is per release. With `privacy_dir` the release is kept: a search over other parameters uses it again and costs
nothing more, while another epsilon is another release, and adds up.
"""

import tempfile

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

    # A grid over other parameters is made of one release; without privacy_dir it would be four.
    with tempfile.TemporaryDirectory() as folder:
        for depth in (2, 3, 4, 5):
            clf = VFXGBClassifier(
                **{**settings, "max_depth": depth},
                active="bank",
                protocol="ldp",
                protocol_params={"epsilon": 1.0},
                privacy_dir=folder,
            ).fit(X[train], y[train])
            print(f"depth {depth}: accuracy {clf.score(X[test], y[test]):.3f}")
        print(clf.ledger_.all_runs())
        assert [event.epsilon for event in clf.ledger_.across_runs["bank", "shop"]] == [1.0]

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

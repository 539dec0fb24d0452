"""What could a curious party have learned? Record a run and attack it, first of a broken protocol, then of a sound one.

`smm2` is published and broken: the shop reads the bank's labels out of what it receives. The audit shows that on your
own run. `record=True` keeps what every party saw and knew, so it is for simulations and your own data only.
"""

import numpy as np

from vfxgb import VFXGBClassifier


def main() -> None:
    """Audit both runs; print who learns what."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 4))
    y = (X[:, 0] * X[:, 2] + 0.3 * rng.normal(size=900) > 0).astype(int)
    settings = {"n_estimators": 2, "max_depth": 3, "max_bin": 16, "parties": {"bank": [0, 1], "shop": [2, 3]}}

    broken = VFXGBClassifier(
        **settings, active="bank", protocol="smm2", protocol_params={"insecure": True}, record=True
    ).fit(X, y)
    found = broken.audit(["smm2-read", "node-votes"])
    print(found)
    assert found.of("smm2-read")[0].success > 0.99  # in the first round

    sound = VFXGBClassifier(**settings, active="bank", protocol="ot_shares", record=True).fit(X, y)
    report = sound.audit(["plain-sign", "smm2-read", "equal-masks"])
    print(report)
    # The attacks that read labels have nothing to work with; masks do not repeat.
    assert not report.of("smm2-read")
    assert not report.of("plain-sign")


if __name__ == "__main__":
    main()

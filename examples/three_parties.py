"""Three companies, one model: a clinic with the diagnosis, a laboratory and an insurer with further columns.

The parties' tables are given one by one, as real parties would hold them. With an exact protocol, such as `ot_shares`,
the trees are those of the pooled table, whatever the number of parties. With `sealed`, which opens no sum, they are as
good.
"""

import numpy as np

from vfxgb import VFXGBClassifier


def main() -> None:
    """Train with three parties and with one; compare tree by tree."""
    rng = np.random.default_rng(3)
    n = 1500
    tables = {
        "clinic": {"age": rng.integers(20, 90, n).astype(float), "pressure": rng.normal(130, 15, n).round()},
        "laboratory": {"glucose": rng.normal(100, 20, n).round(), "iron": rng.normal(90, 25, n).round()},
        "insurer": {"visits": rng.poisson(3, n).astype(float)},
    }
    everything = {name: values for table in tables.values() for name, values in table.items()}
    risk = 0.03 * everything["age"] + 0.04 * everything["glucose"] + 0.5 * everything["visits"]
    y = (risk + rng.logistic(size=n) > np.median(risk)).astype(int)

    settings = {"n_estimators": 8, "max_depth": 4, "max_bin": 32}
    three = VFXGBClassifier(**settings, active="clinic", protocol="ot_shares")
    parties = {party: np.column_stack(list(table.values())) for party, table in tables.items()}
    three.fit(parties, y)
    pooled = np.column_stack(list(everything.values()))
    # The same fractional bits of gradients as ot_shares: then the models are equal, not just close.
    one = VFXGBClassifier(**settings, protocol="plain", protocol_params={"precision_bits": 31})
    one.fit(pooled, y)

    probability = three.predict_proba(parties)
    assert np.array_equal(probability, one.predict_proba(pooled))
    print("three parties and one grow the same trees; their predictions are equal to the last bit")
    assert three.ledger_.opened["laboratory"].equations > 0  # sums that the clinic has seen

    sealed = VFXGBClassifier(**settings, active="clinic", protocol="sealed").fit(parties, y)
    right = [(model.predict_proba(parties)[:, 1] > 0.5) == y for model in (three, sealed)]
    print(f"right of the training rows: {right[0].mean():.1%} with opened sums, {right[1].mean():.1%} without")
    assert not sealed.ledger_.opened
    assert abs(right[0].mean() - right[1].mean()) < 0.05

    owners = three.model_.to_dataframe()["Party"].value_counts()
    print("splits per party:", owners.to_dict())
    assert set(owners.index) == set(tables)
    for party, traffic in three.traffic_.items():
        print(f"clinic and {party}: {traffic.total_bytes / 1e6:.2f} MB, {traffic.sent_messages} messages sent")


if __name__ == "__main__":
    main()

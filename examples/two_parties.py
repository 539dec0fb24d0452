"""A bank and a shop, simulated with pandas: train without pooling, score new customers, read who learned what.

The bank has the label and two columns, the shop has three. Both tables name the customer; here one person holds both,
which is what a simulation is: it tells what training among real parties would cost, reveal and reach.
"""

import numpy as np
import pandas as pd

from vfxgb import VFXGBClassifier


def make_tables(n: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The tables of the two companies, one row per customer."""
    rng = np.random.default_rng(7)
    customers = pd.Index([f"C{number:05d}" for number in range(n)], name="customer")
    shop = pd.DataFrame(
        {"visits": rng.poisson(6, n), "basket": rng.gamma(3, 20, n).round(2), "returns": rng.binomial(8, 0.15, n)},
        index=customers,
    )
    bank = pd.DataFrame({"age": rng.integers(18, 80, n), "income": rng.normal(2800, 700, n).round()}, index=customers)
    risk = 0.04 * (40 - bank["age"]) - 0.001 * (bank["income"] - 2800) + 1.2 * shop["returns"] - 0.3 * shop["visits"]
    bank["default"] = (risk + rng.logistic(size=n) > 0).astype(int)
    return bank, shop


def main() -> None:
    """Train on 2,400 customers, score 600 others, compare with what the bank can do alone."""
    bank, shop = make_tables(3000)
    together = bank.join(shop)  # by customer; real parties align by private set intersection
    columns = {"bank": ["age", "income"], "shop": ["visits", "basket", "returns"]}
    train, test = together.iloc[:2400], together.iloc[2400:]

    settings = {"n_estimators": 12, "max_depth": 3, "learning_rate": 0.2, "eval_metric": "auc"}
    joint = VFXGBClassifier(**settings, parties=columns, active="bank", protocol="sealed")
    features = columns["bank"] + columns["shop"]
    joint.fit(train[features], train["default"], eval_set=[(test[features], test["default"])])
    alone = VFXGBClassifier(**settings)
    alone.fit(train[columns["bank"]], train["default"], eval_set=[(test[columns["bank"]], test["default"])])

    auc = {name: model.evals_result_["validation_0"]["auc"][-1] for name, model in (("joint", joint), ("alone", alone))}
    print(f"AUC of the bank alone {auc['alone']:.3f}, with the shop {auc['joint']:.3f}")
    scores = pd.Series(joint.predict_proba(test[features])[:, 1], index=test.index, name="risk")
    print(scores.sort_values(ascending=False).head(3).to_string())
    print(pd.Series(joint.feature_importances_, index=features).round(3).to_string())
    traffic = joint.traffic_["shop"]
    print(f"{traffic.total_bytes / 1e6:.1f} MB between bank and shop")
    print(joint.ledger_)

    assert auc["joint"] > auc["alone"] + 0.05
    # The shop receives no gradient, and is not told which rows are in a node.
    learned = {entry.message for entry in joint.ledger_.learned_by("shop")}
    assert not learned & {"plain-gradients", "level"}


if __name__ == "__main__":
    main()

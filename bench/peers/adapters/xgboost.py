"""xgboost hist on the pooled table: what training costs when nothing has to be hidden."""

from peers.adapter import Clock, Peer, Task, Trained, Trainer, middle


def _hist(task: Task) -> Trained:
    import xgboost

    from vfxgb.bench.real_trees import assert_real_booster

    data = task.data
    table = xgboost.QuantileDMatrix(data.X, data.y, max_bin=task.bins, nthread=1)
    booster = xgboost.Booster(
        {
            "objective": "binary:logistic",
            "tree_method": "hist",
            "max_depth": task.depth,
            "max_bin": task.bins,
            "nthread": 1,
        },
        [table],
    )
    costs, clock = [], Clock()
    for place in range(task.rounds):
        booster.update(table, place)
        costs.append(clock.lap())
    assert_real_booster(booster, "hist")
    return Trained(middle(costs), booster.predict(table))


PEER = Peer(
    title="xgboost",
    distribution="xgboost",
    module="xgboost",
    install="pip install xgboost",
    notes=("tree_method hist, all columns in one table: nothing is hidden from anybody",),
    trainers={"hist": Trainer(_hist)},
)

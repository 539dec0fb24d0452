"""xgboost hist on the pooled table: what training costs when nothing has to be hidden and nobody is elsewhere."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from field.adapter import ACTIVE, PASSIVE, Entrant, Job, Peer, Reporter


def _entrants() -> Mapping[str, Entrant]:
    return {"hist": Entrant("pooled", "one place has both tables and the labels", alone=True)}


def _play(job: Job, reporter: Reporter) -> None:
    import xgboost

    table = np.concatenate([job.table(ACTIVE), job.table(PASSIVE)], axis=1)
    labels = job.labels()
    reporter.ready()
    reporter.begin()
    matrix = xgboost.QuantileDMatrix(table, labels, max_bin=job.bins, nthread=job.threads)
    booster = xgboost.Booster(
        {
            "objective": "binary:logistic",
            "tree_method": "hist",
            "max_depth": job.depth,
            "max_bin": job.bins,
            "nthread": job.threads,
        },
        [matrix],
    )
    for place in range(job.trees):
        booster.update(matrix, place)
        reporter.tree()
    job.save_predictions(booster.predict(matrix))


PEER = Peer(
    title="xgboost",
    distribution="xgboost",
    module="xgboost",
    requirements=("xgboost", "numpy"),
    install="pip install xgboost",
    source="all columns are in one table",
    entrants=_entrants,
    play=_play,
    notes=("tree_method hist, in one process: the floor of every time here",),
)

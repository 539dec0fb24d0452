"""Small models of three parties, and joint predictions with them within one process."""

from typing import Any

import numpy as np

from simulated_runs import fit_tables
from vfxgb._native.rand import random_bytes
from vfxgb.data.table import Table
from vfxgb.model.pooled import PooledModel
from vfxgb.params import TrainParams
from vfxgb.predict.messages import PREDICTION_MESSAGES
from vfxgb.predict.sides import follow_prediction, lead_prediction
from vfxgb.runtime.ledger import Ledger
from vfxgb.train.simulate import FitResult
from vfxgb.transport.channel import Channel, memory_channels
from vfxgb.transport.frame import RUN_BYTES
from vfxgb.transport.messages import Catalogue
from vfxgb.transport.threads import PartyThread, run_together

N, DEPTH = 150, 4
PARTIES = ("bank", "shop", "mart")


def data(seed: int = 0) -> tuple[np.ndarray, dict[str, Table]]:
    rng = np.random.default_rng(seed)
    X = np.round(rng.normal(size=(N, 6)), 1).astype(np.float32)
    X[rng.random(X.shape) < 0.1] = np.nan
    tables = {
        party: Table.read(X[:, 2 * i : 2 * i + 2], names=[f"c{2 * i}", f"c{2 * i + 1}"], party=party)
        for i, party in enumerate(PARTIES)
    }
    return X, tables


def trained(strategy: str = "learned", rounds: int = 5) -> tuple[FitResult, dict[str, Table], np.ndarray]:
    X, tables = data()
    y = (np.nansum(X[:, [0, 2, 4]], axis=1) > 0).astype(np.float64)
    params = TrainParams(
        objective="binary:logistic", n_estimators=rounds, max_depth=DEPTH, n_jobs=1, missing_strategy=strategy
    )
    return fit_tables(tables, "bank", y, None, N, params), tables, X


def over_channels(
    result: FitResult, tables: dict[str, Table], accept: Any = None, ledger: Ledger | None = None, **more: Any
) -> tuple[np.ndarray, dict[str, Channel], dict[str, int]]:
    catalogue, run = Catalogue(PREDICTION_MESSAGES), random_bytes(RUN_BYTES)
    channels, others, counted = {}, {}, {}

    def follow(party: str, channel: Channel) -> None:
        counted[party] = follow_prediction(result.passive_shares[party], tables[party], channel, accept)

    for party in result.passive_shares:
        observer = None if ledger is None else ledger.record
        channels[party], theirs = memory_channels("bank", party, catalogue, run, observer, timeout=30.0)
        others[party] = PartyThread(party, lambda p=party, c=theirs: follow(p, c), theirs)
    found = run_together(
        lambda: lead_prediction(result.active_share, tables["bank"], channels, **more), channels, others
    )
    return found, channels, counted


def naive_margins(result: FitResult, X: np.ndarray, n_trees: int) -> np.ndarray:
    """Every row through every tree, one by one."""
    pooled = PooledModel(result.active_share, result.passive_shares)
    sums = np.zeros(len(X))
    for tree in range(n_trees):
        first = int(pooled.tree_start[tree])
        for row, values in enumerate(X):
            node = first
            while pooled.feature[node] >= 0:
                value = values[pooled.feature[node]]
                left = pooled.default_left[node] if np.isnan(value) else value < np.float32(pooled.threshold[node])
                node = first + int((pooled.left if left else pooled.right)[node])
            sums[row] += pooled.value[node]
    return sums + float(result.active_share.base_margin[0])

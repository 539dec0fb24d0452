"""One model, and the run folders of both its parties."""

import numpy as np
import pytest

from report_runs import HOSTILE, write_run
from simulated_runs import fit_tables
from vfxgb.data.table import Table
from vfxgb.model.seal import seal_all
from vfxgb.params import TrainParams
from vfxgb.party.folder import RunFolder
from vfxgb.train.simulate import FitResult


@pytest.fixture(scope="package")
def result() -> FitResult:
    rng = np.random.default_rng(4)
    X = rng.normal(size=(200, 4)).astype(np.float32)
    tables = {
        "bank": Table.read(X[:, :2], names=["age", HOSTILE], party="bank"),
        "shop": Table.read(X[:, 2:], names=["basket", "visits"], party="shop"),
    }
    labels = X[:, 0] + X[:, 1] + X[:, 2] * X[:, 3]
    return fit_tables(tables, "bank", labels, None, 200, TrainParams(n_estimators=3, max_depth=3, n_jobs=1), "plain")


@pytest.fixture(scope="package")
def folders(tmp_path_factory, result) -> dict[str, RunFolder]:
    """The run folders of bank and shop, sealed together."""
    top = tmp_path_factory.mktemp("runs")
    active, passive = seal_all(result.active_share, result.passive_shares)
    result.ledger.notes.append(HOSTILE)
    return {
        "bank": write_run(top, active, result.ledger),
        "shop": write_run(top, passive["shop"], result.ledger, "passive"),
    }

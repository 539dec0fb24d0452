"""`sealed` between processes: the model of one process, and its predictions, open and hidden."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from processes import Served, World, exported, joined, last_run
from vfxgb.cli import main
from vfxgb.model.pooled import PooledModel

QUICK = {"group_bits": 768, "insecure": True}
PARTIES = ("bank", "shop", "mill")


@pytest.fixture(scope="module")
def sealing(world: World) -> Iterator[dict[str, str]]:
    """Addresses of a shop and a mill that compare their candidates in the order of a seed, so that ties repeat."""
    serving = {}
    try:
        for party in PARTIES[1:]:
            config = world.passive(
                party, name=f"{party}-sealing", folder=f"{party}-sealing", protocol={"local": {"order_seed": 0}}
            )
            serving[party] = Served(config)
        yield {party: served.address for party, served in serving.items()}
    finally:
        codes = [served.stop() for served in serving.values()]
    assert codes == [0, 0]


def configured(world: World, addresses: dict[str, str], task: str = "binary", **changes: Any) -> Any:
    protocol = {"name": "sealed", "params": QUICK, "local": {"coins": "random_state"}}
    return world.active(addresses, task, name=f"sealed-{task}", protocol=protocol, **changes)


@pytest.fixture(scope="module")
def taught(world: World, sealing: dict[str, str]) -> Any:
    """The configuration of a run of three parties that has ended."""
    config = configured(world, sealing, "multiclass")
    assert main(["train", str(config), "--quiet"]) == 0
    return config


def test_the_model_is_the_one_of_a_single_process(world: World, taught: Any, tmp_path: Any) -> None:
    """From the same rows in the order that was drawn: rounding goes by it."""
    run = last_run(taught)
    model = exported(joined(world, run.run, PARTIES), tmp_path)
    rows = world.agreed(run)
    assert sorted(rows) == world.common(PARTIES).tolist()
    assert model == exported(world.reference(PARTIES, "multiclass", protocol="sealed", rows=rows), tmp_path)


@pytest.mark.parametrize("how", [(), ("--hidden",)])
def test_predictions_are_those_of_the_model(world: World, taught: Any, vfxgb: Any, tmp_path: Any, how: Any) -> None:
    output = tmp_path / "scores.csv"
    assert vfxgb("predict", taught, world.folder / "bank.csv", output, "--quiet", *how) == 0
    lines = [line.split(",") for line in output.read_text().splitlines()[1:]]
    people = np.searchsorted(world.ids, np.array([line[0] for line in lines]))
    model = joined(world, last_run(taught).run, PARTIES)
    pooled = PooledModel(model.active_share, model.passive_shares)
    matrix = np.column_stack([world.values[name][people] for name in pooled.feature_names]).astype(np.float32)
    margins = pooled.margins(matrix)
    wanted = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
    known = np.isin(people, world.common(PARTIES))
    assert [line[1] != "" for line in lines] == known.tolist()
    found = np.array([[float(cell) for cell in line[1:]] for line in lines if line[1]])
    np.testing.assert_allclose(found, wanted[known], rtol=1e-5)

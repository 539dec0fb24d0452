"""GOSS over shards chooses the rows, and amplifies the gradients, that ranking all rows does."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vfxgb.engine.goss import goss_rows
from vfxgb.engine.local import LocalEngine
from vfxgb.engine.sharded import Division
from vfxgb.params import TrainParams
from vfxgb.rows.sampling import sample_rows


@pytest.fixture(scope="module")
def engine(tmp_path_factory):
    made = LocalEngine(1 << 30, 1, tmp_path_factory.mktemp("engine"))
    yield made
    made.close()


@given(
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=5),
    outputs=st.integers(1, 3),
    rates=st.sampled_from([(0.2, 0.1), (0.0, 0.3), (0.5, 0.5), (0.9, 0.05), (0.01, 0.01)]),
    ties=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_rows_and_gradients_of_the_whole(engine, sizes, outputs, rates, ties, seed):
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    g, h = rng.normal(size=(2, n, outputs)).astype(np.float32)
    if ties:
        g = np.round(g)
    params = TrainParams(sampling_method="goss", top_rate=rates[0], other_rate=rates[1], random_state=seed)
    whole = sample_rows(params, 3, g, h)
    edges = np.cumsum([0, *sizes])
    parts = [engine.keep(0, (g[a:b], h[a:b])) for a, b in pairwise(edges)]
    rows, amplified = goss_rows(engine, Division(edges, n), params, 3, parts)
    if whole.rows is None:
        assert rows is None
    else:
        assert rows.tolist() == whole.rows.tolist()
    for place, wanted in enumerate((whole.gradients, whole.hessians)):
        assert np.array_equal(np.concatenate([pair[place] for pair in engine.get(amplified)]), wanted)


def test_eval_rows_behind(engine):
    """Shards that hold eval rows, in part or only, take part with their training rows alone."""
    rng = np.random.default_rng(0)
    g, h = rng.normal(size=(2, 50, 1)).astype(np.float32)
    params = TrainParams(sampling_method="goss")
    division = Division(np.array([0, 30, 60, 80]), 50)
    parts = [engine.keep(0, (g[a:b], h[a:b])) for a, b in ((0, 30), (30, 50), (50, 50))]
    rows, _ = goss_rows(engine, division, params, 0, parts)
    assert rows.tolist() == sample_rows(params, 0, g, h).rows.tolist()

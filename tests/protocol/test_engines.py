"""Rows in shards: the model is that of rows in memory, tree for tree, wherever the shards lie.

Engines here are shards in mapped files of this process, and a cluster whose workers are threads of it, to which
everything travels as between machines. Worker processes, and lost ones, are in tests/fault/test_lost_workers.py.
"""

import pickle
from contextlib import suppress

import numpy as np
import pytest

from ot_runs import same_model as same_shares
from ot_runs import train as train_shares
from ot_runs import watch
from protocol_variants import NEED_NODES, allows, spec_of, with_variants
from simulated_runs import fit_tables
from vfxgb.crypto import PrivateKey
from vfxgb.engine import ciphers
from vfxgb.engine.dask import DaskEngine
from vfxgb.engine.settings import EngineSettings
from vfxgb.engine.worker import forget_keys
from vfxgb.errors import EngineError, ParameterError, ProtocolParameterError, VfxgbError
from vfxgb.predict.joint import predict_margin
from vfxgb.protocols import protocol_by_name, shipped_protocols

SHARDED = tuple(name for name in with_variants(shipped_protocols()) if spec_of(name).sharded)
# What needs all rows in one place, and what the refusal says.
UNFIT = {
    "imputed": "imputes from all rows",
    "imputed by regression": "imputes from all rows",
    "conditional": "learns from all rows which way others lean",
}
FILES = EngineSettings(memory_limit="300MB", shards=3)


@pytest.fixture
def same_model(make_problem, train, model_of):
    """same_model(case, protocol, settings, parties=2): asserts that shards and memory give one model."""

    def check(case, protocol, settings, n_parties=2, **changes) -> None:
        problem = make_problem(case, **changes)
        expected = model_of(train(problem, protocol, n_parties))
        result = train(problem, protocol, n_parties, engine=settings)
        assert result.margins is None
        # Where rows are in shards their margins stay there.
        result = type(result)(**{**vars(result), "margins": np.zeros(0)})
        assert model_of(result) == {**expected, "margins": []}

    return check


def on(client, **more) -> EngineSettings:
    return EngineSettings(engine="dask", engine_address=client, **{"shards": 3, **more})


@pytest.mark.parametrize("name", SHARDED)
def test_shards_in_files(case, name, same_model) -> None:
    if not allows(name, case):
        match = "hides nodes" if case in NEED_NODES else f"with protocol '{name}'"
        with pytest.raises((ParameterError, ProtocolParameterError), match=match):
            same_model(case, name, FILES)
    elif case in UNFIT:
        with pytest.raises(EngineError, match=UNFIT[case]):
            same_model(case, name, FILES)
    else:
        same_model(case, name, FILES)


ON_CLUSTERS = ["missing multiclass", "subsample", "goss", "told goss", "min bucket rows", "colsample bynode"]


@pytest.mark.parametrize(
    ("case_name", "name"),
    [(case, name) for case in ON_CLUSTERS for name in ("batch_he", "ot_shares", "sealed") if allows(name, case)],
)
def test_shards_on_a_cluster(case_name, name, same_model, dask_client) -> None:
    same_model(case_name, name, on(dask_client, workers_hold_key=True), n_estimators=2, max_depth=3)


@pytest.mark.parametrize("name", SHARDED)
def test_workers_without_the_key(name, same_model, dask_client) -> None:
    if spec_of(name).secrets_with_rows:
        match = f"with protocol '{name}' secrets of the active party .* set workers_hold_key=True if all workers"
        with pytest.raises(EngineError, match=match):
            same_model("weights", name, on(dask_client), 3)
    else:
        same_model("weights", name, on(dask_client), 3, n_estimators=2, max_depth=3)


@pytest.mark.parametrize("name", ["batch_he", "ot_shares", "sealed"])
@pytest.mark.parametrize("shards", [1, 2, 7, 40])
def test_any_number_of_shards(shards, name, same_model) -> None:
    same_model("missing", name, EngineSettings(memory_limit="300MB", shards=shards))


def test_several_passive_parties_hold_masks_in_shards(same_model, dask_client) -> None:
    same_model("missing", "ot_shares", FILES, 3)
    same_model("missing", "ot_shares", on(dask_client, workers_hold_key=True), 3, n_estimators=2, max_depth=3)


def test_an_encoding_that_needs_the_numbers_of_rows(make_problem) -> None:
    """Padded slots are decoded by how many rows are in a sum, which the passive party counts where its rows are."""
    problem = make_problem("missing", n_estimators=2, max_depth=3)
    params = {**protocol_by_name("batch_he").quick_params, "encoding": "shift", "key_bits": 512}
    given = (problem.tables(2), "p0", problem.y, problem.weight, len(problem.y), problem.params)
    here, shards = (
        fit_tables(*given, protocol="batch_he", protocol_params=params, engine=engine)
        for engine in (EngineSettings(), FILES)
    )
    tables = problem.tables(2)
    wanted = predict_margin(here.active_share, here.passive_shares, tables)
    assert np.array_equal(predict_margin(shards.active_share, shards.passive_shares, tables), wanted)


def test_only_the_public_key_travels_unless_allowed(make_problem, train, dask_client, monkeypatch) -> None:
    """What the active party's engine is given, with and without workers_hold_key."""
    run, keys = DaskEngine.run, set()

    def spy(self, shard, function, *args):
        for one in args:
            if isinstance(one, bytes):
                with suppress(VfxgbError):
                    PrivateKey.from_bytes(one, insecure=True)
                    keys.add(function.__name__)
        return run(self, shard, function, *args)

    monkeypatch.setattr(DaskEngine, "run", spy)
    problem = make_problem("binary", n_estimators=1, max_depth=2)
    train(problem, "batch_he", engine=on(dask_client))
    assert keys == set()
    train(problem, "batch_he", engine=on(dask_client, workers_hold_key=True))
    assert "encrypt_rows" in keys


def test_the_secret_of_masks_does_not_pass_the_scheduler(dask_client, monkeypatch) -> None:
    """Roots and Delta go through files of the run's folder, which are removed when the run ends."""
    future = pytest.importorskip("distributed").Future
    run, close, given, left = DaskEngine.run, DaskEngine.close, [], []

    def spy(self, shard, function, *args):
        given.append((function.__name__, pickle.dumps([one for one in args if not isinstance(one, (future, list))])))
        return run(self, shard, function, *args)

    def ending(self):
        left.extend(path.name for path in self.folder.iterdir() if path.is_file() and len(path.name) == 32)
        close(self)

    monkeypatch.setattr(DaskEngine, "run", spy)
    monkeypatch.setattr(DaskEngine, "close", ending)
    seen = watch(monkeypatch)
    masks = train_shares(engine=on(dask_client, workers_hold_key=True))
    assert same_shares(masks, train_shares())
    assert {"load_owned", "load_held", "mask_rows"} <= {name for name, _ in given}
    roots = [root.tobytes() for roots in seen.roots.values() for root in roots.reshape(-1, 16)]
    assert len(roots) >= 80
    for name, data in given:
        assert seen.delta not in data, name
        assert not any(root in data for root in roots), name
    assert left == []


@pytest.mark.parametrize("name", [name for name in shipped_protocols() if name not in SHARDED])
def test_protocols_for_one_process_say_so(name, make_problem, train) -> None:
    with pytest.raises(EngineError, match=f"protocol '{name}' works on rows in one process; use one of"):
        train(make_problem("binary"), name, engine=FILES)


def test_what_needs_all_rows_is_refused(make_problem, train) -> None:
    with pytest.raises(EngineError, match="a run that is recorded keeps all rows here"):
        train(make_problem("binary"), "plain", engine=FILES, record=True)
    problem = make_problem("regression", objective=lambda y, m: (m - y, np.ones_like(m)))
    with pytest.raises(EngineError, match="an objective that is a callable sees all rows at once"):
        train(problem, "plain", engine=FILES)


def test_workers_that_read_the_key_again(same_model, dask_client, monkeypatch) -> None:
    """Functions of one process may have read one key several times: another run on the cluster ended, and forgot it."""
    reading = ciphers.public_key

    def anew(data):
        forget_keys()
        return reading(data)

    monkeypatch.setattr(ciphers, "public_key", anew)
    same_model("missing", "batch_he", on(dask_client), n_estimators=1, max_depth=3)

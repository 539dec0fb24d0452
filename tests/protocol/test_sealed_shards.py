"""`sealed` with rows in shards at one side or at all: the models are those of its twin, whose rows are in memory."""

import pickle
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from network_runs import NetworkChannels, Town
from protocol_variants import params_of
from simulated_runs import fit_tables
from vfxgb.contract import PassiveContext
from vfxgb.engine import split_bits
from vfxgb.engine.base import Engine
from vfxgb.engine.dask import DaskEngine
from vfxgb.engine.settings import EngineSettings, engines_for
from vfxgb.errors import EngineError
from vfxgb.protocols.sealed import ahead, passive, routed
from vfxgb.protocols.sealed.columns import CandidateColumns
from vfxgb.train import active, simulate

HIDDEN = "plain, nodes hidden"
BITS = 16
FILES = EngineSettings(memory_limit="300MB", shards=3)


def on(client: Any, **more: Any) -> EngineSettings:
    return EngineSettings(engine="dask", engine_address=client, **{"shards": 3, **more})


@pytest.fixture
def divide(monkeypatch: pytest.MonkeyPatch) -> Callable[[Collection[str]], None]:
    """divide(parties): from now on engines are for these parties alone; the others have their rows in memory."""

    def choose(parties: Collection[str]) -> None:
        @contextmanager
        def chosen(names: Any, settings: EngineSettings, threads: int | None) -> Iterator[dict[str, Engine | None]]:
            with engines_for([name for name in names if name in parties], settings, threads) as engines:
                yield {name: engines.get(name) for name in names}

        monkeypatch.setattr(simulate, "engines_for", chosen)

    return choose


@pytest.fixture
def same_as_twin(make_problem: Any, train: Any, model_of: Any) -> Callable[..., None]:
    """same_as_twin(case, settings, parties): `sealed` on shards has the model of its twin in memory."""

    def check(case: str, settings: EngineSettings, n_parties: int = 2, **changes: Any) -> None:
        changes = {"score_bits": BITS, "n_estimators": 2, "max_depth": 3, "split_rule": "centred", **changes}
        problem = make_problem(case, **changes)
        expected = {**model_of(train(problem, HIDDEN, n_parties)), "margins": []}
        result = train(problem, "sealed", n_parties, engine=settings)
        result = type(result)(**{**vars(result), "margins": np.zeros(0)})
        assert model_of(result) == expected

    return check


@pytest.mark.parametrize("parties", ["p0", "p1", "p2", "p1 p2", "p0 p1", "p0 p1 p2"])
def test_shards_at_either_side(parties: str, same_as_twin: Any, divide: Any) -> None:
    """The others have their rows in memory, and nobody tells them of shards."""
    divide(parties.split())
    same_as_twin("missing multiclass", FILES, 3)


@pytest.mark.parametrize("parties", ["p0", "p1"])
@pytest.mark.parametrize("sampling", ["subsample", "goss"])
def test_shards_on_a_cluster_at_one_side(
    parties: str, sampling: str, same_as_twin: Any, divide: Any, dask_client: Any
) -> None:
    divide([parties])
    same_as_twin(sampling, on(dask_client))


def test_three_passive_parties_on_a_cluster(same_as_twin: Any, dask_client: Any) -> None:
    same_as_twin("missing", on(dask_client), 4)


def test_the_twin_in_shards(make_problem: Any, train: Any, model_of: Any) -> None:
    """Integers of 30 bits: they go to gradient pairs, and to the scores of candidates, wherever the rows are."""
    problem = make_problem("missing multiclass", score_bits=30, n_estimators=2, split_rule="centred")
    expected = {**model_of(train(problem, HIDDEN, 3)), "margins": []}
    result = train(problem, HIDDEN, 3, engine=FILES)
    assert model_of(type(result)(**{**vars(result), "margins": np.zeros(0)})) == expected


@pytest.mark.parametrize("settings", [EngineSettings(), FILES], ids=["memory", "files"])
def test_questions_about_rows_end_elsewhere_than_shards(
    settings: EngineSettings, same_as_twin: Any, train: Any, make_problem: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Questions of 64 transfers, none of which were sent ahead."""
    monkeypatch.setattr(routed, "PART_TRANSFERS", 64)
    monkeypatch.setattr(ahead, "MOST_OF_A_ROW", 0)
    monkeypatch.setattr(split_bits, "WINDOW_BYTES", 200)
    problem = make_problem("missing multiclass", score_bits=BITS, n_estimators=1, max_depth=2)
    ledger = train(problem, "sealed", engine=settings).ledger
    # There are two levels.
    assert sum(entry.messages for entry in ledger.entries if entry.message == "hidden-route") > 10
    same_as_twin("missing multiclass", settings)


def test_the_same_over_tls(same_as_twin: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    channels = NetworkChannels(Town(tmp_path))
    monkeypatch.setattr(simulate, "memory_channels", channels)
    try:
        same_as_twin("missing", FILES, 3)
    finally:
        channels.close()
    # The twin's, and those of the run in shards.
    assert len(channels.links) == 4


@pytest.mark.parametrize("shards_first", [False, True])
def test_a_kept_set_up_serves_rows_in_memory_and_in_shards(
    shards_first: bool, make_problem: Any, model_of: Any, tmp_path: Path
) -> None:
    problem = make_problem("missing", score_bits=BITS, n_estimators=2)
    params = {**params_of("sealed"), "order_seed": None, "setup_dir": str(tmp_path)}

    def run(engine: EngineSettings) -> Any:
        return fit_tables(
            problem.tables(2), "p0", problem.y, None, 220, problem.params, "sealed", params, engine=engine
        )

    ways = [FILES, EngineSettings()] if shards_first else [EngineSettings(), FILES]
    results = [run(engine) for engine in (*ways, ways[0])]
    blocks = [
        sum(entry.messages for entry in result.ledger.entries if entry.message == "lattice-block") for result in results
    ]
    assert blocks == [1, 0, 0]
    models = [{**model_of(type(result)(**{**vars(result), "margins": np.zeros(0)}))} for result in results]
    assert models[0] == models[1] == models[2]


def test_the_seed_of_coins_does_not_reach_the_cluster(
    make_problem: Any, dask_client: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever knew it could tell from ties on which side of a split the positive rows are."""
    future = pytest.importorskip("distributed").Future
    run, given, seeds = DaskEngine.run, [], []
    draw = active.ActiveParty._integer_seed  # type: ignore[attr-defined]

    def spy(self: DaskEngine, shard: int, function: Callable[..., Any], *args: Any) -> Any:
        plain = [each for each in args if not isinstance(each, future | list)]
        given.append((function.__name__, pickle.dumps(plain)))
        return run(self, shard, function, *args)

    def drawn(self: Any) -> int:
        seeds.append(draw(self))
        return int(seeds[-1])

    monkeypatch.setattr(DaskEngine, "run", spy)
    monkeypatch.setattr(active.ActiveParty, "_integer_seed", drawn)
    problem = make_problem("binary", n_estimators=1, max_depth=2)
    params = {"group_bits": 768, "insecure": True}
    fit_tables(problem.tables(2), "p0", problem.y, None, 220, problem.params, "sealed", params, engine=on(dask_client))
    assert {"round_shard", "encrypted_sums", "shard_bits"} <= {name for name, _ in given}
    (seed,) = set(seeds)
    assert seed.bit_length() > 100
    text = seed.to_bytes(-(-seed.bit_length() // 8), "little")
    for name, data in given:
        assert text not in data, name
        assert str(seed).encode() not in data, name


@pytest.mark.parametrize("settings", [EngineSettings(), FILES], ids=["memory", "files"])
def test_a_party_without_candidates_has_a_column_that_says_nothing(
    settings: EngineSettings, make_problem: Any, train: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[CandidateColumns] = []

    def make(context: PassiveContext) -> CandidateColumns:
        made.append(CandidateColumns(context))
        return made[-1]

    monkeypatch.setattr(passive, "CandidateColumns", make)
    problem = make_problem("binary", n_estimators=1)
    problem.X[:, 3:] = 1.0
    run = train(problem, "sealed", engine=settings)
    assert {tuple(set(tree.party.tolist()) - {-1}) for tree in run.active_share.trees} == {(0,)}
    (columns,) = made
    assert len(columns) == 1
    # Also where an active party that deviates makes it win.
    assert columns.lines(np.array([0]), 16, 300).tolist() == [[0] * 36]
    assert columns.left_bits(0, 220).tolist() == [[0] * 28]


def test_what_needs_all_rows_is_refused(make_problem: Any, train: Any) -> None:
    with pytest.raises(EngineError, match="a run that is recorded keeps all rows here"):
        train(make_problem("binary"), "sealed", engine=FILES, record=True)

"""`vfxgb bench scale` on some thousand rows, with keys that protect nothing; its data, its clusters, its mistakes."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vfxgb.bench import children
from vfxgb.bench.scale import cluster, data, measure
from vfxgb.bench.scale.cluster import running_cluster
from vfxgb.bench.scale.costs import key_costs, row_costs, typical
from vfxgb.bench.scale.job import ScaleJob, ScaleRun, run_job
from vfxgb.bench.scale.measure import ScaleSettings, quick
from vfxgb.bench.scale.model import KeyCosts, RowCosts
from vfxgb.bench.scale.points import points, projections
from vfxgb.bench.scale.results import Costs, Trained
from vfxgb.cli import main
from vfxgb.errors import MissingPackageError, ParameterError, VfxgbError

pq = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("distributed")


@contextmanager
def shared(address: str, workers: int, threads: int) -> Iterator[str]:
    """Stands in for running_cluster, whose start is most of what a small training takes: one for all of them."""
    assert (workers, threads) == (2, 1)
    yield address


@pytest.fixture
def fewer_processes(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One cluster for all trainings, which are in this process but for those under a limit of memory."""

    def ask(module: str, job: ScaleJob, result: type[ScaleRun], name: str) -> ScaleRun:
        return children.ask(module, job, result, name) if "memory_limit" in job.engine else run_job(job)

    monkeypatch.setattr(measure, "ask", ask)
    with running_cluster(2, 1) as address:
        monkeypatch.setattr(measure, "running_cluster", partial(shared, address))
        yield


@pytest.mark.usefixtures("fewer_processes")
def test_everything_in_small(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "scale.json"
    given = ["--quick", "--rows", "1500", "--shards", "2", "--memory-rows", "1200", "--large-rows", "1600"]
    arguments = ["bench", "scale", *given, "--out-of-core", "--folder", str(tmp_path / "data"), "--json", str(file)]
    assert main(arguments) == 0
    output = capsys.readouterr().out
    for wanted in ("local threads", "dask, 2 shards, key withheld", "all models are equal", "dask, 1,200 rows"):
        assert wanted in output
    for wanted in ("peak memory", "disk: ", "the cost model", "nanoseconds: bins"):
        assert wanted in output
    document = json.loads(file.read_text())
    assert list(document) == ["costs", "shards", "memory", "out-of-core"]
    local, sharded, withheld = document["shards"]["found"]
    assert (local["workers"], sharded["workers"], sharded["threads"]) == (0, 2, 1)
    assert not withheld["holds_key"]
    runs = [way["runs"][0] for way in (local, sharded, withheld)]
    assert len({run["model"] for run in runs}) == 1
    # One ciphertext per row, and one for each node to build.
    assert all(1500 < run["operations"]["encryptions"] < 1510 for run in runs)
    assert runs[0]["cluster_cpu_seconds"] == 0 < runs[1]["cluster_cpu_seconds"]
    # Processor time leaves out the key as if one thread had made it, by the clock: on a busy machine that can be more.
    assert all(run["seconds"] > 0 < run["cpu_seconds"] + run["key_seconds"] for run in runs)
    (memory,), (large,) = document["memory"]["found"], document["out-of-core"]["found"]
    assert (memory["shards"], len(memory["runs"][0]["worker_peak_bytes"])) == (4, 2 if sys.platform == "linux" else 0)
    assert large["rows"] == 1600
    compared = {(point.name, point.what): point for point in points(document)}
    # Additions and bytes of the model are those that were counted, whatever the machine is doing.
    assert len(compared) == 4 * 5
    for (name, what), point in compared.items():
        if what == "additions":
            assert 0.6 < point.ratio < 1.1, name
        if what == "sent and received":
            assert 0.95 < point.ratio < 1.1, name


@pytest.mark.usefixtures("fewer_processes")
@pytest.mark.parametrize("protocol", ["ot_shares", "sealed"])
def test_shares_in_small(protocol: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without the cost model, which is that of batch_he; a cluster without the secrets of masks is no way to go."""
    file = tmp_path / "scale.json"
    given = ["--quick", "--rows", "1500", "--shards", "2", "--memory-rows", "1200", "--large-rows", "1600"]
    where = ["--out-of-core", "--folder", str(tmp_path / "data"), "--json", str(file)]
    assert main(["bench", "scale", "--protocol", protocol, *given, *where]) == 0
    output = capsys.readouterr().out
    for wanted in ("dask, 2 shards", f"depth 3, 8 bins, {protocol}; from Parquet to the model, set-up included"):
        assert wanted in output
    for unwanted in ("key withheld", "the cost model"):
        assert unwanted not in output
    document = json.loads(file.read_text())
    assert list(document) == ["shards", "memory", "out-of-core"]
    local, sharded = document["shards"]["found"]
    runs = [way["runs"][0] for way in (local, sharded)]
    assert len({run["model"] for run in runs}) == 1
    if protocol == "ot_shares":
        assert all(run["operations"]["masks"] >= 1500 * 2 * 8 for run in runs)
        assert all(run["key_seconds"] > 0 for run in runs)
    assert runs[0]["sent"] == runs[1]["sent"]
    assert points(document) == []


def test_a_file_keeps_what_was_not_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "scale.json"
    file.write_text('{"shards": {"settings": {"trees": 2}, "machine": {"cores": "2"}, "found": []}}')
    arguments = ["bench", "scale", "--quick", "--parts", "costs", "--json", str(file)]
    assert main(arguments) == 0
    document = json.loads(file.read_text())
    assert list(document) == ["shards", "costs"]
    assert [key["scheme"] for key in document["costs"]["found"]["keys"]] == ["ou", "paillier"]
    projected = projections(document, measure.QUICK_BITS)
    assert len(projected) == 8
    fewer, more = projected[0], projected[1]
    assert (fewer.workers, more.workers) == (10, 100)
    assert more.encrypt == pytest.approx(fewer.encrypt / 10)
    assert more.trees["10 Gbit/s"] <= more.trees["1 Gbit/s"] <= fewer.trees["1 Gbit/s"]


@pytest.mark.parametrize(
    "arguments",
    [
        ["--parts", "speed"],
        ["--parts", "costs,costs"],
        ["--shards", "2,2"],
        ["--shards", "0"],
        ["--key-bits", "1024"],
        ["--scheme", "rsa"],
        ["--protocol", "smm1"],
        ["--protocol", "ot_shares", "--parts", "costs"],
        ["--json", "/nonexistent/folder/file.json"],
        ["--quick", "--parts", "shards", "--features", "1"],
    ],
    ids=" ".join,
)
def test_mistakes_are_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "scale", *arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("vfxgb: ")


def test_a_file_that_holds_something_else(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not JSON")
    assert main(["bench", "scale", "--quick", "--parts", "costs", "--json", str(file)]) == 2
    assert "notes.txt is not a file of results" in capsys.readouterr().err
    assert file.read_text() == "not JSON"


def test_quick_leaves_what_was_asked_for() -> None:
    settings = quick(ScaleSettings(rows=7, shards=(4,)))
    assert (settings.rows, settings.shards, settings.features) == (7, (4,), 4)
    assert settings.insecure
    assert settings.key_bits == measure.QUICK_BITS


def test_models_that_differ_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = iter("abcdef")

    def pretend(settings: ScaleSettings, way: Trained, *_: Any) -> Trained:
        run = ScaleRun(1.0, 0.0, 1.0, 0.0, None, None, None, None, None, [], {}, {}, 0, 0, next(made))
        way.runs.append(run)
        return way

    monkeypatch.setattr(measure, "_train", pretend)
    with pytest.raises(VfxgbError, match="models differ"):
        measure.measure(quick(ScaleSettings(parts=("shards",))), tmp_path)


def test_data_is_the_same_every_time_and_in_groups(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    first, second = (data.write_data(tmp_path / name, 1000, 5) for name in ("a", "b"))
    assert first.features == (2, 3)
    for party, path in first.paths.items():
        table, again = pq.read_table(path), pq.read_table(second.paths[party])
        assert table.equals(again)
        assert pq.ParquetFile(path).num_row_groups == data.LEAST_GROUPS
    bank, shop = (pq.read_table(path).to_pydict() for path in first.paths.values())
    assert list(bank) == ["label", "bank_0", "bank_1"]
    assert list(shop) == ["shop_0", "shop_1", "shop_2"]
    labels = np.array(bank["label"])
    assert set(labels.tolist()) == {0.0, 1.0}
    # Both parties know something of the label.
    assert np.corrcoef(labels, bank["bank_0"])[0, 1] > 0.2
    assert np.corrcoef(labels, shop["shop_0"])[0, 1] < -0.2
    stamp = Path(first.bank).stat().st_mtime_ns
    assert data.write_data(tmp_path / "a", 1000, 5) == first
    assert Path(first.bank).stat().st_mtime_ns == stamp
    with pytest.raises(ParameterError, match="found 1 features"):
        data.write_data(tmp_path, 10, 1)


def test_what_is_not_installed_is_said(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(cluster, "import_module", absent)
    with pytest.raises(MissingPackageError, match=r"pip install 'vfxgb\[dask\]'"), running_cluster(1, 1):
        raise AssertionError("it started")
    monkeypatch.setattr(data, "import_module", absent)
    with pytest.raises(MissingPackageError, match="pip install pyarrow"):
        data.write_data(tmp_path, 10, 2)


def test_a_cluster_that_does_not_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(VfxgbError, match="its process ended with code 1"), running_cluster(1, 1):
        raise AssertionError("it started")


def test_an_error_of_a_training_names_it() -> None:
    job = ScaleJob({"bank": "none.parquet", "shop": "none.parquet"}, None, {}, None, {}, 1, 2, 4, 1)
    with pytest.raises(VfxgbError, match=r"measuring a table: .*none.parquet"):
        children.ask("vfxgb.bench.scale.job", job, ScaleRun, "a table")


def test_constants_are_sensible(tmp_path: Path) -> None:
    key = key_costs("paillier", 512, 100, 1, insecure=True)
    assert (key.wire_bytes, key.plaintext_bits) == (128, 511)
    assert 0 < key.add < key.encrypt < key.decrypt
    row = row_costs(tmp_path, 2000, 1)
    assert 0 < row.sum_cell < row.bin_cell
    assert not list(tmp_path.glob("vfxgb-*"))


def test_constants_of_several_times_are_their_medians() -> None:
    def costs(factor: float) -> Costs:
        times = dict.fromkeys(("encrypt_public", "read", "add", "pack", "rerandomise", "decrypt"), factor)
        key = KeyCosts("ou", 512, encrypt=2 * factor, **times, wire_bytes=64, element_bytes=72, plaintext_bits=170)
        return Costs([key], RowCosts(factor, 3 * factor, factor, factor))

    assert typical([costs(5.0), costs(1.0), costs(2.0)]) == costs(2.0)
    assert typical([costs(1.0), costs(3.0)]) == costs(2.0)
    assert typical([costs(1.0)]) == costs(1.0)

"""`vfxgb bench train` on tables of a few hundred rows, with keys that protect nothing."""

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest

from vfxgb import _native
from vfxgb.bench import datasets
from vfxgb.bench.train import measure, report, twin
from vfxgb.bench.train.costs import floor_seconds, lane_for, operations
from vfxgb.bench.train.job import JobResult, TrainJob, TrainRun, run_job
from vfxgb.bench.train.shapes import BARS, Shape, read_shapes
from vfxgb.cli import main
from vfxgb.crypto import generate
from vfxgb.errors import BenchmarkError, FormatError, ParameterError, VfxgbError

TINY = ("--rows", "300", "--key-bits", "512", "--insecure", "--depth", "3", "--bins", "8", "--trees", "1")


@pytest.fixture(autouse=True)
def no_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("VFXGB_DATA", raising=False)
    monkeypatch.setattr(measure, "COST_BATCH", 40)
    monkeypatch.setattr(measure, "CHEAP_TREES", 2)


def in_this_process(job: TrainJob, _: str) -> JobResult:
    return run_job(job)


def test_configurations(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "train.json"
    assert main(["bench", "train", *TINY, "--configs", "ou-short", "--json", str(file)]) == 0
    captured = capsys.readouterr()
    for wanted in ("generated table, 300 x (5+5) in place of give_credit", "batch_he ou-short", "plain", "busy floor"):
        assert wanted in captured.out
    assert "(1 of 5)" in captured.err
    numbers = json.loads(file.read_text())
    encrypted, sealed, shares, plain, xgboost = numbers["configurations"]
    names = [entry["name"] for entry in (encrypted, sealed, shares, plain, xgboost)]
    assert names == ["batch_he ou-short", "sealed", "ot_shares", "plain", "xgboost"]
    # Base transfers both ways; for each of 35 columns a zero, which is 2048 numbers, and its 300 rows.
    assert 35 * 2048 * 4 < sealed["once_bytes"] - 606_497 < 35 * 2048 * 16
    # Once: the base transfers in a group of 768 bits, and five trees of masks a row, of up to 4 levels, both ways.
    assert 300 * 5 * 16 < shares["once_bytes"] - 606_497 < 300 * 5 * 200
    assert shares["once_seconds"] > 0
    assert shares["sent"] < encrypted["sent"]
    # Of trees this small the longer run may come out shorter.
    assert np.isfinite(encrypted["seconds"])
    assert encrypted["operations"]["encryptions"] >= 300
    assert set(encrypted["costs"]) <= {"encryptions", "additions", "packing", "rerandomisations", "decryptions"}
    assert encrypted["floor"] == pytest.approx(
        sum(encrypted["operations"][name] * cost for name, cost in encrypted["costs"].items()) / 2
    )
    assert encrypted["gradients_bytes"] == 300 * encrypted["result"]["wire_bytes"]
    assert 1.0 < (encrypted["sent"] + encrypted["received"]) / encrypted["ciphertext_bytes"] < 1.3
    assert plain["floor"] is None


def test_ablation(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(measure, "run_in_child", in_this_process)
    assert main(["bench", "train", *TINY, "--configs", "paillier-short", "--ablation"]) == 0
    output = capsys.readouterr().out
    for switch in measure.SWITCHES:
        assert f"paillier-short, without {switch}" in output
    assert "with all off batch_he takes" in output


def test_linear(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(measure, "run_in_child", in_this_process)
    assert main(["bench", "train", *TINY, "--linear"]) == 0
    output = capsys.readouterr().out
    for size in ("30 x (5+5)", "90 x (5+5)", "300 x (5+5)", "30 x (5+10)", "30 x (5+20)"):
        assert size in output


@pytest.mark.parametrize(
    "arguments",
    [
        ["--data", "iris"],
        ["--rows", "0"],
        ["--rows", "150001"],
        ["--data", "default_credit", "--rows", "30001"],
        ["--features", "3", "4"],
        ["--features", "3"],
        ["--data", "synthetic", "--linear", "--features", "3", "4"],
        ["--configs", "paillier"],
        ["--configs", "ou-djn,ou-djn"],
        ["--key-bits", "1024"],
        ["--key-bits", "2049"],
        ["--trees", "0"],
        ["--protocols", "smm3"],
        ["--protocols", "smm1,smm1"],
        ["--json", "/nonexistent/folder/file.json"],
        ["--shapes", "bars"],
        ["--shapes", "100x2+2:bins=8", "--protocols", "plain"],
        ["--shapes", "0x2+2:bins=8:depth=2", "--protocols", "plain"],
        ["--shapes", "bars,bars", "--protocols", "plain"],
        ["--shapes", "bars", "--protocols", "plain", "--depth", "3"],
        ["--shapes", "bars", "--protocols", "plain", "--linear"],
        ["--paths", "avx1024"],
        ["--paths", "portable,portable"],
        ["--paths", "portable", "--ablation"],
        ["--paths", "portable", "--protocols", "plain"],
    ],
    ids=" ".join,
)
def test_mistakes_are_one_line(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "train", *arguments]) == 2
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("vfxgb: ")


def test_a_child_that_dies_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def died(command: list[str], **_: object) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.CompletedProcess(command, -9, b"")

    monkeypatch.setattr(subprocess, "run", died)
    job = TrainJob("synthetic", 10, (1, 1), "plain", {}, 1, 2, 1, 1)
    with pytest.raises(VfxgbError, match="measuring plain: its process ended with code -9"):
        measure.run_in_child(job, "plain")


def test_an_error_of_a_child_is_raised_here_and_an_interrupt_too(monkeypatch: pytest.MonkeyPatch) -> None:
    params = {"scheme": "ou", "randomness": "djn", "key_bits": 512, "insecure": False}
    job = TrainJob("synthetic", 50, (1, 1), "batch_he", params, 1, 2, 1, 1)
    with pytest.raises(VfxgbError, match=r"measuring small: .*2048"):
        measure.run_in_child(job, "small")

    def interrupted(command: list[str], **_: object) -> "subprocess.CompletedProcess[bytes]":
        return subprocess.CompletedProcess(command, 130, b"")

    monkeypatch.setattr(subprocess, "run", interrupted)
    with pytest.raises(KeyboardInterrupt):
        measure.run_in_child(job, "small")


def test_per_tree_numbers_are_what_the_longer_run_took_beyond_the_shorter() -> None:
    single = TrainRun([3.0], 2.0, 1.0, {"additions": 10}, {}, 100, 50, 7)
    whole = TrainRun([4.0, 5.0, 6.0], 12.0, 1.5, {"additions": 40, "packing": 4}, {}, 700, 250, 9)
    job = TrainJob("synthetic", 10, (1, 1), "batch_he", {}, 1, 2, 2, 2)
    costs = {"additions": {"1": [1.0, 2.0, 9.0], "2": [1.5]}, "packing": {"1": [3.0], "2": [2.0]}}
    measured = measure.make_measurement("x", job, JobResult("", 10, (1, 1), 3, single, whole, costs, 64, 80))
    assert (measured.seconds, measured.cpu_seconds, measured.sent, measured.received) == (6.0, 5.0, 300.0, 100.0)
    assert measured.operations == {"additions": 15.0, "packing": 2.0}
    assert measured.floor == (15 * 2.0 + 2 * 3.0) / 2
    assert measured.loaded_floor == 15 * 1.5 + 2 * 2.0
    assert (measured.peak_bytes, measured.peak_with_pool) == (7, 9)
    alone = measure.make_measurement("x", job, JobResult("", 10, (1, 1), 3, single, None, {}, 0, 0))
    assert (alone.seconds, alone.sent, alone.operations) == (3.0, 100.0, {"additions": 10.0})


def test_costs_have_the_names_that_runs_count() -> None:
    key = generate("paillier", 512, insecure=True)
    timed = operations(key, 100, 20)
    assert {operation.name for operation in timed} == set(report.OPERATIONS)
    lane = lane_for(key, 100)
    assert lane.sums == (511 - lane.overhead) // lane.width
    for operation in timed:
        operation.measure(1)
        assert operation.count > 0
    assert floor_seconds({"additions": 4}, {"additions": 2.0, "packing": 1.0}, 2) == 4.0


def test_real_tables_are_split_as_fate_splits_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("VFXGB_DATA", str(tmp_path))
    expected = datasets.DATA_SETS["give_credit"]
    passive = [f"p{i}" for i in range(expected.columns - len(expected.active))]
    names = ["label", *passive, *expected.active]
    cells = np.arange(len(names) * 6).reshape(6, -1)
    cells[:, 0] = [0, 1, 0, 1, 0, 1]
    path = tmp_path / "give_credit.csv.gz"
    write(path, names, cells)
    loaded = datasets.load("give_credit", 5)
    assert loaded.source == "give_credit.csv.gz, 5 x (5+5)"
    assert loaded.X[:, : loaded.n_active].tolist() == cells[:5, 6:].tolist()
    assert loaded.X[:, loaded.n_active :].tolist() == cells[:5, 1:6].tolist()
    assert loaded.y.tolist() == [0, 1, 0, 1, 0]
    with pytest.raises(FormatError, match=r"give_credit.csv.gz: found 6 rows"):
        datasets.load("give_credit", 7)
    write(path, names[:-1], cells[:, :-1])
    with pytest.raises(FormatError, match="NumberOfDependents"):
        datasets.load("give_credit", 5)
    with pytest.raises(ParameterError, match="columns are fixed"):
        datasets.load("give_credit", 5, (2, 2))


def write(path: Path, names: list[str], cells: "np.ndarray[tuple[int, ...], np.dtype[np.int64]]") -> None:
    import gzip

    with gzip.open(path, "wt") as file:
        file.write(",".join(names) + "\n")
        file.writelines(",".join(map(str, row)) + "\n" for row in cells.tolist())


def test_generated_tables_are_the_same_every_time() -> None:
    first, second = (datasets.load("synthetic", 50, (2, 3)) for _ in range(2))
    assert np.array_equal(first.X, second.X)
    assert first.parties == {"bank": [0, 1], "shop": [2, 3, 4]}
    assert set(first.y.tolist()) == {0.0, 1.0}


def test_protocols_with_parameters(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(measure, "run_in_child", in_this_process)
    file = tmp_path / "train.json"
    names = "plain,ldp,ldp:mechanism=laplace:epsilon=1"
    assert main(["bench", "train", *TINY, "--protocols", names, "--json", str(file)]) == 0
    assert "ldp:mechanism=laplace:epsilon=1" in capsys.readouterr().out
    measured = json.loads(file.read_text())["protocols"]
    assert [entry["name"] for entry in measured] == names.split(",")
    # Sums do not travel.
    assert measured[1]["received"] < measured[0]["received"]


def test_paths_alternate_and_each_job_runs_by_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    best = _native.bigint.available_paths()[-1]
    if best == "portable":
        pytest.skip("this machine has the portable kernels alone")
    file = tmp_path / "paths.json"
    settings = ("--configs", "ou-short", "--paths", f"portable,{best}", "--json", str(file))
    assert main(["bench", "train", *TINY, *settings]) == 0
    captured = capsys.readouterr()
    assert f"paths: ou-short, {best} (6 of 6)" in captured.err
    assert "medians of 3 trainings by each path, the paths in turn" in captured.out
    measured = json.loads(file.read_text())["paths"]
    assert [entry["name"] for entry in measured] == ["ou-short, portable", f"ou-short, {best}"] * measure.PATH_REPEATS
    for entry in measured:
        assert f"bigint {entry['job']['path']}" in entry["result"]["kernels"]


def test_a_path_that_the_machine_lacks(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("vfxgb._native.bigint.available_paths", lambda: ["portable"])
    assert main(["bench", "train", *TINY, "--paths", "portable,ifma"]) == 2
    assert "found --paths portable,ifma, wanted some of portable, which are what" in capsys.readouterr().err


def test_shapes_of_the_bars() -> None:
    shapes = read_shapes("bars")
    assert shapes[0] == Shape(150_000, (5, 5), 32, 6)
    assert [str(shape) for shape in shapes[1:]] == [
        "100,000 x (10+10), 16 bins, depth 5",
        "1,000,000 x (10+10), 16 bins, depth 5",
        "30,000 x (5+50), 64 bins, depth 6",
    ]
    assert read_shapes(",".join(BARS)) == shapes


def test_shapes(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measure, "run_in_child", in_this_process)
    monkeypatch.setattr(measure, "SHAPE_TREES", 3)
    file = tmp_path / "shapes.json"
    names = "plain,sealed:group_bits=768:insecure=true"
    shapes = "400x2+3:bins=8:depth=3,300x2+2:bins=8:depth=2"
    settings = ("--protocols", names, "--shapes", shapes, "--threads", "1", "--json", str(file))
    assert main(["bench", "train", *settings]) == 0
    output = capsys.readouterr().out
    for wanted in (
        "400 x (2+3), 8 bins, depth 3",
        "300 x (2+2)",
        "median s",
        "flights",
        "shop: compare",
        "argmax-flight",
    ):
        assert wanted in output
    plain, sealed, _, other = json.loads(file.read_text())["shapes"]
    assert plain["result"]["twin"] is None
    assert sealed["result"]["twin"]["rows"] == 400
    assert min(sealed["result"]["twin"]["splits"], other["result"]["twin"]["splits"]) > 2
    # A level is some flights of comparisons; plain says each thing once.
    assert 3 * 5 < plain["flights"] + 15 < sealed["flights"]
    middle = sorted(sealed["result"]["whole"]["rounds"][1:-1])
    assert len(middle) == 2
    assert sealed["median_seconds"] == pytest.approx(sum(middle) / 2)
    sent = sealed["sent"] + sealed["received"]
    assert sum(sealed["message_bytes"].values()) == pytest.approx(sent, rel=0.02)
    assert {"bank: sums", "shop: sums", "bank: pieces", "shop: route", "rest"} <= set(sealed["step_cpu"])
    assert sealed["once_bytes"] > 0.5e6


def test_models_that_differ_are_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    data = datasets.load("synthetic", 300, (2, 2))
    params = {"group_bits": 768, "insecure": True}
    made = twin.compare_with_twin("sealed", params, data, 3, 8)
    assert made is not None
    assert (made.rows, made.trees) == (300, 2)
    assert twin.compare_with_twin("plain", {}, data, 3, 8) is None
    assert twin.compare_with_twin("sealed", params, data.head(0), 3, 8) is None

    def first(values: "np.ndarray[tuple[int, int], np.dtype[np.int64]]") -> tuple[object, object]:
        return np.zeros(len(values), dtype=np.int64), np.abs(values[:, 0])

    monkeypatch.setattr("vfxgb.protocols.plain.integer_active.largest", first)
    with pytest.raises(BenchmarkError, match="found models that differ, wanted the same trees"):
        twin.compare_with_twin("sealed", params, data, 3, 8)


@pytest.mark.parametrize("names", ["no_such", "ldp:epsilon", "ldp:mechanism=laplace"])
def test_protocols_that_cannot_be_measured(names: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["bench", "train", *TINY, "--protocols", names]) != 0
    assert "Traceback" not in capsys.readouterr().err


def test_protocols(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(measure, "run_in_child", in_this_process)
    names = "smm1,smm2,batch_he,secureboost,plain"
    assert main(["bench", "train", *TINY, "--configs", "ou-short", "--protocols", names]) == 0
    output = capsys.readouterr().out
    for wanted in ("smm1  ", "smm2, small nodes ou-short", "batch_he ou-short", "secureboost ou-short", "plain"):
        assert wanted in output
    assert "smm1 is broken and for research only; run with insecure=True. reading W" in output
    assert "smm2 alone leaves nodes with too few rows to the active party" in output
    assert "plain is broken" not in output

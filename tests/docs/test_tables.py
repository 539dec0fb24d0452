"""The tables of README.md and docs are those of the result files: bench/update_readme.py would write the same."""

import importlib
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

from pages import ROOT

SWITCHES = ("joint_buckets", "pack_sums", "subtract")


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return importlib.import_module("update_readme")


def test_pages_are_as_the_script_writes_them(script: ModuleType) -> None:
    for page in script.PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        assert script.updated(page, text) == text, f"{page} is not what its result files say: {script.__doc__}"
    assert "decrypt |" in script.readme_section()


def test_training_tables_are_written_from_the_files_there_are(script: ModuleType, tmp_path: Path) -> None:
    assert script.training_section(tmp_path) == ""
    operations = {"encryptions": 1000.0, "additions": 5000.0, "decryptions": 30.0}
    result = {"source": "give_credit.csv.gz, 900 x (5+5)", "rows": 900, "features": [5, 5]}
    line = {
        "name": "batch_he ou-short",
        "seconds": 3.0,
        "floor": 2.5,
        "operations": operations,
        "sent": 4.4e6,
        "received": 2e5,
        "peak_bytes": 5e6,
        "result": result,
    }
    plain = {**line, "name": "plain", "seconds": 0.05, "cpu_seconds": 0.1, "floor": None, "peak_bytes": None}
    head = {
        "machine": {"cores": "2"},
        "settings": {"depth": 6, "bins": 32, "key_bits": 2048, "threads": 2},
    }
    dear = {**operations, "additions": 9000.0, "decryptions": 60.0}
    off = [{**line, "name": f"ou-short, without {one}", "operations": dear} for one in SWITCHES]
    none = [
        {**line, "name": "ou-short, batch_he, all off"},
        {**line, "name": "ou-short, secureboost, all off", "seconds": 6},
    ]
    ablation = [{**line, "name": "ou-short, all on"}, *off, *none, {**line, "name": "ou-djn, all on"}]
    one_sum = {"users": 500, "entries": 400, "server seconds": 2.5, "user seconds": 0.25, "user sent": 1e5}
    shares = {**plain, "name": "ot_shares", "once_seconds": 1.5, "once_bytes": 108_000_000}
    files = {
        "train_give_credit": {**head, "configurations": [line, plain, shares]},
        "ablation_give_credit": {**head, "ablation": ablation},
        "protocols_adult": {**head, "protocols": [plain, {**line, "name": "masked", "cpu_seconds": 4.0}]},
        "linear": {
            **head,
            "linear": [
                {**line, "name": "ou-short, 900 x (5+5)"},
                {**shares, "name": "ot_shares, 900 x (5+5), 32 bins"},
            ],
        },
        "batch_he": {
            "differences": dict.fromkeys(["batch against non-batch", "batch against plain", "batch against xgboost"], 0)
        },
        "fedxgb_aggregation": {"table": {"results": {"512": {"bcp": one_sum}, "2048": {"bcp": one_sum, "x": one_sum}}}},
    }
    for name, numbers in files.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(numbers))
    written = script.training_section(tmp_path)
    for wanted in (
        "give_credit.csv.gz, 900 x (5+5); depth 6, 32 bins, 2048-bit keys, 2 threads",
        "| batch_he ou-short | 3.00 | 2.50 | 1.20 | 4.4 | 0.2 | 5 |",
        "| plain | 0.05 |  |  | 4.4 | 0.2 |  |",
        "1.80 times the additions without joint buckets",
        "2.00 times the decryptions without packed sums",
        "`batch_he` takes 0.50 of the time and 1.00 of the bytes",
        "900 x (5+5): 3.00 s.",
        "Set-up, once per training and not in the table: ot_shares takes 1.50 s and 108 MB.",
        "and set-up, one tree of generated tables, ot_shares: 900 x (5+5), 32 bins: 0.05 s after 1.50 s and 108 MB.",
        "| masked | 3.000 | 60.00 | 4.000 | 4.6 | 5 |",
        "0.000000 between `batch_he` and xgboost",
        "a sum of 400 entries over 500 users",
        "| bcp | 2.50 | 0.250 | 0.100 | 2.50 | 0.250 | 0.100 |",
        "| x |  |  |  | 2.50 | 0.250 | 0.100 |",
    ):
        assert wanted in written


def test_costs_add_computing_and_sending(script: ModuleType, tmp_path: Path) -> None:
    line = {"seconds": 0.5, "once_seconds": 5.0, "sent": 1.5e6, "received": 0.5e6, "once_bytes": 25_000_000}
    line["result"] = {"source": "a table, 9 x (1+1)"}
    settings = {"depth": 6, "bins": 32, "key_bits": 2048, "threads": 2}
    lines = [{**line, "name": name} for name, _ in script.SHORT_TRAINING]
    result = {"machine": {"cores": "2"}, "settings": settings, "configurations": lines}
    (tmp_path / "train_give_credit.json").write_text(json.dumps(result))
    written = script.costs_section(tmp_path)
    # 50 trees: 30 s and 125 MB, which take 1, 10 and 100 s on the three lines.
    assert "| `ot_shares` | 30 s | 125 MB | 31 s | 40 s | 2 min |" in written
    assert "50 trees of a table, 9 x (1+1); depth 6" in written


def test_noise_is_the_mean_over_seeds(script: ModuleType, tmp_path: Path) -> None:
    cells = {"adult|ldp|1|0": {"auc": 0.7}, "adult|ldp|1|1": {"auc": 0.8}, "adult|ldp|2|0": {"auc": 0.9}}
    cells["adult|active party alone|1|0"] = {"auc": 0.6}
    settings = {"n_estimators": 2, "max_depth": 3, "learning_rate": 0.1, "reg_lambda": 50.0}
    settings |= {"private_stage_trees": 7, "seeds": 2}
    document = {"settings": settings, "data": {"adult": {"train": 1_234}}, "cells": cells}
    (tmp_path / "noise_cost.json").write_text(json.dumps(document))
    written = script.noise_section(tmp_path)
    assert "| adult | ldp | 0.750 | 0.900 |" in written
    # What knows no epsilon stands in every column.
    assert "| adult | active party alone | 0.600 | 0.600 |" in written
    assert "mean over 2 draws" in written
    assert "1,234 of adult" in written


def test_demo_shows_parties_and_scores(script: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "demo.txt").write_text("data  d\nparties  p\nmore\nAUC on 9 customers\n  together 1\n\nwhat else\n")
    assert script.demo_section(tmp_path) == (
        "```text\ndata  d\nparties  p\n...\nAUC on 9 customers\n  together 1\n...\n```"
    )
    (tmp_path / "demo.txt").write_text("nothing\n")
    with pytest.raises(SystemExit, match="make it again"):
        script.demo_section(tmp_path)


def test_readme_has_no_number_of_its_own() -> None:
    """Measured numbers stand in parts that the script writes; elsewhere no unit of time or size follows a number."""
    text = re.sub(r"(?s)<!-- (\w+): written by .*?<!-- end of \1 -->", "", (ROOT / "README.md").read_text("utf-8"))
    assert re.findall(r"\b\d[\d.,]*\s?(?:x|times|s|ms|µs|us|MB|GB|%|seconds|minutes)\b", text) == []


def test_operations_next_to_peers(script: ModuleType, tmp_path: Path) -> None:
    def measured(peer: str, operation: str, microseconds: float, wrong: str = "") -> dict[str, object]:
        head = {"peer": peer, "scheme": "paillier", "bits": 2048, "operation": operation}
        return {**head, "microseconds": microseconds, "wrong": wrong}

    ours = [measured("vfxgb", operation, 10.0) for *_, operation in script.SHORT_OPERATIONS]
    ours += [{**one, "scheme": "ou"} for one in ours]
    theirs = [
        measured("slow", "encrypt", 250.0),
        measured("slow", "decrypt", 5.0),
        measured("bad", "decrypt", 1.0, "7"),
    ]
    results = {
        "settings": {"quick": False, "bits": [2048]},
        "operations": ours + theirs,
        "peers": {
            name: {"title": name, "version": "1.2", "notes": [f"{name} is new"]} for name in ("vfxgb", "slow", "bad")
        },
    }
    (tmp_path / "peers.json").write_text(json.dumps(results))
    (written,) = script.short_operations(tmp_path)
    assert "| vfxgb | slow 1.2 |\n" in written
    assert "| Paillier: encrypt, key owner | **10.0** | 250 (25.0x) |" in written
    assert "| Paillier: encrypt, public key alone | **10.0** | 250 (25.0x) |" in written
    assert "| Paillier: decrypt | **10.0** | 5.00 (0.50x) |" in written
    assert "| Okamoto-Uchiyama: decrypt | **10.0** |  |" in written
    assert "weak" not in written
    assert written in script.peers_section(tmp_path)
    assert "- slow: slow is new." in script.peers_section(tmp_path)
    for measured_twice in (ours, theirs):
        measured_twice += [{**line, "scheme": "ou"} for line in measured_twice if line["operation"] == "encrypt"]
    ours.append({**measured("vfxgb", script.WEAK[2], 4.0), "scheme": "ou"})
    (tmp_path / "peers.json").write_text(json.dumps({**results, "operations": ours + theirs}))
    (written,) = script.short_operations(tmp_path)
    assert "| Okamoto-Uchiyama: encrypt, public key alone, weak randomness | **4.00** | 250 (62.5x) |" in written
    assert written.count("weak") == 1
    incomplete = [line for line in ours if line["operation"] != "decrypt"]
    (tmp_path / "peers.json").write_text(json.dumps({**results, "operations": incomplete + theirs}))
    with pytest.raises(SystemExit, match="no 'decrypt' of paillier"):
        script.short_operations(tmp_path)
    (tmp_path / "peers.json").write_text(json.dumps({**results, "settings": {"quick": True, "bits": [2048]}}))
    assert "not been run" in script.peers_section(tmp_path)


def test_alignment_and_links(script: ModuleType, tmp_path: Path) -> None:
    assert script.network_section(tmp_path) == ""
    run = {"ids": 1000, "parties": 3, "seconds": [1.0, 3.0, 2.0], "bytes": 5e6, "peak_bytes": None, "load": 1.25}
    (tmp_path / "psi.json").write_text(json.dumps({"alignments": [run]}))
    assert "| 1,000 | 3 | 2.00 | 5.00 |  | 1.2 |" in script.network_section(tmp_path)
    asked = {
        "rows": 900,
        "trees": 5,
        "depth": 6,
        "seconds": [0.5],
        "round_trips": 7,
        "sent_bytes": 1e6,
        "received_bytes": 0,
    }
    link = {"megabytes_per_second": 700.2, "round_trip_microseconds": {"median": 480.0}, "data": "x", "protocol": "p"}
    (tmp_path / "network.json").write_text(json.dumps({**link, "ratio": 1.004, "prediction": asked}))
    written = script.network_section(tmp_path)
    assert "700 MB/s, a round trip in 480 µs (median). Training of x with `p` takes 1.00 times as long" in written
    assert "900 rows, 5 trees of depth 6, in 0.50 s, 7 round trips and 1.00 MB." in written


def test_hidden_prediction(script: ModuleType, tmp_path: Path) -> None:
    runs = [
        {"kind": "open", "transfer_bits": None, "cpu_seconds": [0.3, 0.4, 0.5], "bytes": 12e6, "set_up_bytes": 0},
        {"kind": "hidden, soft", "transfer_bits": 6, "cpu_seconds": [3.5], "bytes": 154e6, "set_up_bytes": 686e3},
    ]
    runs = [{**run, "seconds": [2.0], "round_trips": 6} for run in runs]
    single = [{"kind": kind, "milliseconds": {"median": ms}} for kind, ms in (("open", 150.4), ("hidden", 160.0))]
    results = {
        "prediction": {"rows": 900, "trees": 5, "depth": 6, "passive_splits": 31, "runs": runs},
        "single_rows": {"delay_ms": 10.0, "runs": single},
        "batches": {
            "mbit": 100.0,
            "runs": [{"rows": 1000, "seconds": {"ahead": [0.31, 0.32], "with each question": [0.52, 0.5]}}],
        },
        "routing": {
            "rows": 150_000,
            "splits": [1, 2],
            "runs": [{"transfer_bits": 8, "bytes": 5.4e6, "cpu_seconds": [0.14]}],
        },
    }
    (tmp_path / "hidden_prediction.json").write_text(json.dumps(results))
    written = script.network_section(tmp_path)
    assert "| open | 2.00 | 0.40 | 12.0 | 6 | 0.00 |" in written
    assert "| hidden, soft transfers, `transfer_bits` 6 | 2.00 | 3.50 | 154 | 6 | 0.69 |" in written
    assert "10 ms each way, looked up by its id: 150 ms openly, 160 ms hidden (median)" in written
    assert "line of 100 Mbit" in written
    assert "1,000 rows in 0.32 s, with each question 0.51 s" in written
    assert "has 1, 2 splits a level" in written
    assert "5.40 MB and 0.14 s with `transfer_bits` 8" in written


def test_what_an_audit_found_is_told_with_what_guessing_gives(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    words = importlib.import_module("protocol_tables").audit_words
    better = {"attacker": "shop", "target": "labels", "success": 0.953, "guess": 0.5, "better": True}
    table = {"attacker": "bank", "target": "binned table", "success": 1.0, "guess": 0.03, "better": True}
    other = {**better, "target": "gradients", "better": False}
    assert words({"findings": [better, table, other], "run": ["solve"]}) == (
        "the active party: 100% of the binned table (3%); the passive party: 95% of the labels (50%)"
    )
    assert words({"findings": [other], "run": ["solve"]}) == "nothing: no attack beats guessing"
    assert words({"findings": [], "run": []}) == "nothing: no attack finds what it needs"


def test_refusals_are_counted_over_tables_and_seeds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    counts = {"compared": 40, "won": 20, "refused": 10, "too light": 4, "by hessian": [[5, 5], [15, 5]]}
    counts["by depth"] = [[0, 0], [20, 10]]
    gain = {"table": "bank", "seed": 0, "variant": "gain", "auc": 0.9}
    now = {**gain, "variant": "as it is", "auc": 0.901, **counts}
    light = {**now, "variant": "light 4", "auc": 0.899, "compared": 30, "won": 10, "refused": 2}
    settings = {"trees": 5, "depth": 2, "rows": 100}
    result = {"machine": {}, "settings": settings, "hessians": [0, 2], "runs": [gain, now, light]}
    (tmp_path / "refused_winners.json").write_text(json.dumps(result))
    text = importlib.import_module("protocol_tables").refused_section(tmp_path)
    assert "| refused of them | 100% | 33% | 50% |" in text
    assert "| refused of them |  | 50% | 50% |" in text
    assert "| light 4 | 30 | 10 | 8 | 20% | -1.00 | -1.00 |" in text
    assert "1 variants were tried" in text
    assert "Of all refusals 40% are for a child that is too light" in text


def test_paths_are_compared_by_their_own_medians(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    tables = importlib.import_module("path_tables")

    def operations(factor: float) -> list[dict[str, object]]:
        return [
            {"scheme": scheme, "name": name, "count": 10, "seconds": {"1": [factor, 9 * factor, 2 * factor]}}
            for scheme in tables.SCHEMES
            for name in tables.OPERATIONS
        ]

    results = {"machine": {}, "paths": {"avx2": operations(3e-3), "ifma": operations(1e-3)}}
    for bits in (2048, 3072):
        settings = {"bits": bits, "repeats": 3, "count": 10}
        (tmp_path / f"paths_{bits}.json").write_text(json.dumps({**results, "settings": settings}))
    written = tables.paths_section(tmp_path)
    assert "| 2048-bit keys, one thread | Paillier, avx2 | ifma | " in written
    assert "| decrypt | 600 | 200 | **3.00x** | 600 | 200 | **3.00x** |" in written


def test_trainings_by_path_are_medians_of_their_own_runs(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    tables = importlib.import_module("path_tables")
    lines = [
        {"name": f"paillier-djn, {path}", "seconds": factor * times, "cpu_seconds": 2 * factor * times}
        for times in (1.0, 9.0, 2.0)
        for path, factor in (("avx2", 4.0), ("ifma", 1.0))
    ]
    settings = {"depth": 6, "bins": 32, "key_bits": 2048, "threads": 2, "paths": ["avx2", "ifma"]}
    paths = [{**line, "result": {"source": "a table"}} for line in lines]
    results = {"machine": {}, "settings": settings, "paths": paths}
    (tmp_path / "train_paths.json").write_text(json.dumps(results))
    written = tables.training_paths_section(tmp_path)
    assert "| paillier-djn | 8.00 | 2.00 | **0.25** | 16.00 | 4.00 | **0.25** |" in written
    assert "both parties in one process; medians of 3 trainings by each path, in turn" in written

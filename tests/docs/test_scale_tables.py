"""The tables of docs/scale.md, from a file of results that is made up."""

import importlib
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from pages import ROOT

MACHINE = {
    "cores": "2",
    "processor": "a processor",
    "kernels": "avx2 (of portable, avx2)",
    "load average": "0.1 0.1 0.1",
}
SETTINGS = {"insecure": False, "trees": 1, "key_bits": 3072}
KEY = {
    "scheme": "ou",
    "key_bits": 3072,
    "encrypt": 60e-6,
    "encrypt_public": 300e-6,
    "read": 2e-6,
    "add": 1.5e-6,
    "pack": 9e-5,
    "rerandomise": 3e-4,
    "decrypt": 3e-4,
    "wire_bytes": 384,
    "element_bytes": 392,
    "plaintext_bits": 1022,
}
ROWS = {"bin_cell": 60e-9, "sum_cell": 1e-9, "gradient": 12e-9, "split": 7e-9}
RUN = {
    "seconds": 50.0,
    "key_seconds": 1.0,
    "cpu_seconds": 80.0,
    "cluster_cpu_seconds": 0.0,
    "start_bytes": 100_000_000,
    "peak_bytes": 20_000_000,
    "anonymous_bytes": 90_000_000,
    "read_bytes": 0,
    "written_bytes": 400_000_000,
    "worker_peak_bytes": [],
    "phases": {"bank": {"encrypt": 30.0, "bin": 0.1}},
    "operations": {"additions": 12_000_000},
    "sent": 384_000_000,
    "received": 300_000,
    "model": "a",
}
WAY = {
    "name": "local threads",
    "rows": 1_000_000,
    "features": [10, 10],
    "depth": 5,
    "bins": 32,
    "scheme": "ou",
    "key_bits": 3072,
    "shards": 1,
    "workers": 0,
    "threads": 2,
    "holds_key": True,
    "runs": [RUN],
}


def part(found: Any) -> dict[str, Any]:
    return {"machine": MACHINE, "settings": SETTINGS, "found": found}


def on_workers(rows: int, peak: int) -> dict[str, Any]:
    run = {**RUN, "cluster_cpu_seconds": 10.0, "seconds": 55.0, "worker_peak_bytes": [peak, peak - 1]}
    return {**WAY, "name": f"dask, {rows:,} rows", "rows": rows, "workers": 2, "shards": 2, "threads": 1, "runs": [run]}


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    return importlib.import_module("scale_tables")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    document = {
        "costs": part({"keys": [KEY, {**KEY, "scheme": "paillier", "wire_bytes": 768}], "rows": ROWS}),
        "shards": part([WAY, on_workers(1_000_000, 500_000_000)]),
        "memory": part([on_workers(1_000_000, 500_000_000), on_workers(4_000_000, 2_000_000_000)]),
        "out-of-core": part([{**WAY, "name": "memory_limit=6GB"}]),
    }
    (tmp_path / "scale.json").write_text(json.dumps(document))
    masks = {"protocol": "ot_shares", "scheme": "", "key_bits": 0}
    ways = [{**WAY, **masks}, {**on_workers(1_000_000, 500_000_000), **masks}]
    shares = {"shards": part(ways), "memory": part(ways[1:]), "out-of-core": part(ways[:1])}
    (tmp_path / "scale_ot_shares.json").write_text(json.dumps(shares))
    columns = {"out-of-core": part([{**WAY, "protocol": "sealed", "scheme": "", "key_bits": 0}])}
    (tmp_path / "scale_sealed.json").write_text(json.dumps(columns))
    return tmp_path


def test_tables_say_what_the_file_says(tables: ModuleType, folder: Path) -> None:
    written = {name: write(folder) for name, write in tables.SECTIONS.items()}
    wanted = {
        "shards": ("| local threads |  | 2 | 50.0 | 1.00 | 80.0 | 1.00 |", "| 2 | 1 | 55.0 | 1.10 | 90.0 | 1.12 |"),
        "memory": ("| 4,000,000 | 100 | 20 | 2,000 | 55.0 |", "2 workers, 2 shards of each party"),
        "large": ("| peak memory | 120 MB |", "| bank | encrypt 30 s |", "`memory_limit=6GB`"),
        "constants": ("| encrypt, key owner | 60.0 | 60.0 |", "| bytes on the line, `w` | 384 | 768 |", "| 60.0 |"),
        "checked": (
            "| additions, 10^6 |",
            "memory of a row, both parties, bytes |",
            "| local threads, 1,000,000 rows |",
        ),
        "masks in shards": ("32 bins, ot_shares; trees: 1", "set-up included", "| 51.0 | 1.00 | 81.0 | 1.00 |"),
        "memory of masks": ("| 1,000,000 | 100 | 20 | 500 | 56.0 |",),
        "columns out of core": ("features, depth 5, 32 bins, sealed, one tree", "| peak memory | 120 MB |"),
        "masks out of core": ("| wall time, set-up included | 51 s |", "| peak memory | 120 MB |"),
        "projected": (
            "| Okamoto-Uchiyama | 100,000,000 | 10 |",
            "| Paillier | 1,000,000,000 | 100 |",
            "tree, 1 Gbit/s",
        ),
    }
    for name, lines in wanted.items():
        for line in lines:
            assert line in written[name], f"{name}: {line} is not in\n{written[name]}"


def test_projections_are_of_the_right_size(tables: ModuleType, folder: Path) -> None:
    text = tables.projected_section(folder)
    (line,) = [one for one in text.splitlines() if one.startswith("| Okamoto-Uchiyama | 1,000,000,000 | 100 |")]
    cells = [cell.strip() for cell in line.split("|")[1:-1]]
    # 10^9 rows x 60 us on 800 cores; 384 bytes a row, and 5 / 8 of one for left bits, on a line of 125 MB/s.
    assert (cells[4], cells[6]) == ("75 s", "385")
    assert float(cells[7].removesuffix(" min")) == pytest.approx(1e9 * 384 / 125e6 / 60, rel=0.1)


@pytest.mark.parametrize("content", [None, "quick"])
def test_what_was_not_measured_is_said(tables: ModuleType, folder: Path, content: str | None) -> None:
    for file in folder.glob("scale*.json"):
        document = json.loads(file.read_text())
        file.unlink()
        if content is not None:
            quick = {p: {**one, "settings": {**SETTINGS, "insecure": True}} for p, one in document.items()}
            file.write_text(json.dumps(quick))
    for write in tables.SECTIONS.values():
        assert "has not been run at full size yet" in write(folder)


def test_durations(tables: ModuleType) -> None:
    assert [tables.duration(seconds) for seconds in (119, 121, 7100, 7300)] == ["119 s", "2 min", "118 min", "2.0 h"]

"""README.md says what is true: its example runs, and its tables are those of the result files."""

import importlib.util
import json
import re
from pathlib import Path
from types import ModuleType

import pytest

SWITCHES = ("joint_buckets", "pack_sums", "subtract")
ROOT = Path(__file__).resolve().parents[2]
README = ROOT / "README.md"


@pytest.fixture(scope="module")
def script() -> ModuleType:
    spec = importlib.util.spec_from_file_location("update_readme", ROOT / "bench/update_readme.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_speed_tables_are_those_of_the_result_files(script: ModuleType) -> None:
    text = README.read_text(encoding="utf-8")
    assert script.updated(text) == text
    assert "| decrypt |" in script.speed_section()


def test_training_tables_are_written_from_the_files_there_are(script: ModuleType, tmp_path: Path) -> None:
    text = README.read_text(encoding="utf-8")
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
    written = script.updated(text, tmp_path)
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
    assert script.updated(written, tmp_path) == written


EXAMPLES = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)


def test_there_are_examples() -> None:
    assert len(EXAMPLES) == 4


@pytest.mark.parametrize("example", EXAMPLES, ids=["train", "users", "audit", "encrypt"])
def test_example_runs(example: str) -> None:
    assert "\nassert " in example
    exec(compile(example, "README.md", "exec"), {})

"""docs/results holds what pages cite: every file is linked from a page, or a table of one is written from it."""

import importlib
import json
import re
from pathlib import Path
from typing import Any

import pytest

from vfxgb.bench.train.measure import TrainSettings
from vfxgb.cli.arguments import build_parser

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "docs/results"
# Files of which tables are written that say nothing about speed: accuracy, attacks, what a protocol reveals.
NOT_OF_SPEED = {
    *("demo.txt", "noise_cost.json", "solve.json", "row_bits.json", "won_columns.json", "split_rules.json"),
    *("sealed_auc.json", "refused_winners.json", "lattice_noise.json", "batch_he.json"),
}
# Files that are older than the record of commits; measured anew by bench/fresh.py they have one, and leave this list.
WITHOUT_COMMIT = {
    *("ablation_give_credit.json", "linear.json", "montgomery.json", "network.json", "ops_2048.json", "ops_3072.json"),
    *("peers.json", "protocols_adult.json", "protocols_default_credit.json", "protocols_give_credit.json", "psi.json"),
    *("scale.json", "train_wide.json", "fedxgb_aggregation.json"),
}
LINK = re.compile(r"\]\(([^)#\s]+)")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted((ROOT / "python").rglob("*.md"))]


def linked(pages: list[Path]) -> set[Path]:
    """The files of docs/results that can be reached from pages by links."""
    todo, found = list(pages), set()
    while todo:
        page = todo.pop()
        targets = {(page.parent / target).resolve() for target in LINK.findall(page.read_text(encoding="utf-8"))}
        new = {target for target in targets if target.parent == RESULTS and target.is_file()} - found
        found |= new
        todo += [target for target in new if target.suffix == ".md"]
    return found


def read_for_tables(monkeypatch: pytest.MonkeyPatch) -> set[Path]:
    """The files that bench/update_readme.py reads to write its tables."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    script = importlib.import_module("update_readme")
    found = set()
    really = Path.read_text

    def read_text(path: Path, *args: Any, **options: Any) -> str:
        found.add(path.resolve())
        return really(path, *args, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "read_text", read_text)
        for page in script.PAGES:
            script.updated(page, (ROOT / page).read_text(encoding="utf-8"))
    return {path for path in found if path.parent == RESULTS}


def test_every_result_is_cited(monkeypatch: pytest.MonkeyPatch) -> None:
    cited = linked(PAGES) | read_for_tables(monkeypatch)
    assert sorted(path.name for path in set(RESULTS.iterdir()) - cited) == []


def test_every_table_says_how_it_was_made(monkeypatch: pytest.MonkeyPatch) -> None:
    """Files from which tables are written have a command; those of the papers have pages that say theirs."""
    read = {path.name for path in read_for_tables(monkeypatch)}
    origins = importlib.import_module("origins")
    assert {name for name in read - set(origins.COMMANDS) if not (RESULTS / name).with_suffix(".md").is_file()} == set()
    assert {name for name in origins.COMMANDS if not (RESULTS / name).is_file()} == set()


def test_an_origin_says_what_the_file_records(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    origin = importlib.import_module("origins").origin
    machine = {"processor": "A", "cores": "2", "kernels": "avx2 (of both)", "commit": "abc+"}
    results = {"machine": machine, "settings": {"protocols": ["plain", "ldp"]}}
    options = "--data adult --trees 6 --configs paillier-djn --protocols plain,ldp"
    made = f"Made by `vfxgb bench train {options}` on A, 2 cores, avx2 kernels, commit abc+."
    assert origin("protocols_adult.json", results) == made
    assert origin("linear.json", {"machine": {"cores": "2"}}) == "Made by `vfxgb bench train --linear`."


def test_commands_of_trainings_are_those_that_the_files_were_made_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """The settings that a file records are those that its command asks for."""
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    commands = importlib.import_module("origins").COMMANDS
    fields = TrainSettings.__dataclass_fields__
    checked = 0
    for name, command in commands.items():
        if not command.startswith("vfxgb bench train"):
            continue
        recorded = json.loads((RESULTS / name).read_text(encoding="utf-8"))["settings"]
        for later in ("protocols", "shapes", "paths"):  # settings that are younger than some files
            recorded.setdefault(later, [])
        words = command.replace("PROTOCOLS", ",".join(recorded["protocols"])).split()[1:]
        asked = {key: value for key, value in vars(build_parser("bench").parse_args(words)).items() if key in fields}
        assert json.loads(json.dumps(asked)) == recorded, name
        checked += 1
    assert checked == 9


def test_every_speed_table_can_be_measured_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """bench/fresh.py knows each file of which a table of speed is written, and a command for it."""
    read = {path.name for path in read_for_tables(monkeypatch)}
    fresh = importlib.import_module("fresh")
    assert {*fresh.SHORT, *fresh.LONG} == read - NOT_OF_SPEED
    assert {*fresh.SHORT, *fresh.LONG} <= {*fresh.COMMANDS, *fresh.PAPERS}
    assert sum(fresh.SHORT.values()) <= 60


def test_every_speed_table_records_its_commit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "bench"))
    fresh = importlib.import_module("fresh")
    unknown = {name for name in {*fresh.SHORT, *fresh.LONG} if "unknown" in fresh.commits(RESULTS / name)}
    assert unknown <= WITHOUT_COMMIT

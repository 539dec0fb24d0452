"""Categories and dates between processes: the model of one process, scores of new rows, and who sees which names."""

import csv
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from processes import COLUMNS, OPEN_CONSENT, SIZES, TRAIN, Served, World, at_rest, exported, joined, last_run
from simulated_runs import fit_tables
from vfxgb.data.categories import ColumnKinds
from vfxgb.data.table import Table
from vfxgb.errors import ColumnNameError
from vfxgb.model.fitted import FittedModel
from vfxgb.params import TrainParams
from vfxgb.party.config import load_config
from vfxgb.party.tables import read_table
from vfxgb.protocols import protocol_by_name

TOWNS = ["Ulm", "Trier", "Celle", "Jena", "Husum", "Ulm an der Donau"]
JOBS = ["baker", "nurse", "smith"]
EXTRA = {"bank": ("town",), "shop": ("job", "since")}
KINDS = {"bank": {"categorical": ["town"]}, "shop": {"categorical": ["job"], "dates": ["since"]}}


class CategoryWorld(World):
    """Bank and shop also know a town, a job and a date of everybody, but for some; the label depends on these."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        random = np.random.default_rng(11)
        count = len(self.ids)
        town, job = random.integers(0, len(TOWNS), count), random.integers(0, len(JOBS), count)
        days = random.integers(0, 20_000, count)
        self.texts = {
            "town": [TOWNS[code] if random.random() > 0.1 else "" for code in town],
            "job": [JOBS[code] if random.random() > 0.1 else "" for code in job],
            "since": [str(np.datetime64("1970-01-01") + int(day)) for day in days],
        }
        score = np.isin(town, [0, 3]) + 1.0 * (job == 1) + (days > 9000) - 1.5 + 0.3 * random.normal(size=count)
        self.labels["binary"] = (score > 0).astype(int)
        for party in EXTRA:
            self.add(party)

    def add(self, party: str) -> None:
        """Write the texts into the party's table, and the labels again."""
        file = self.folder / f"{party}.csv"
        with file.open() as text:
            rows = list(csv.DictReader(text))
        for row in rows:
            place = int(np.searchsorted(self.ids, row["id"]))
            row.update({name: self.texts[name][place] for name in EXTRA[party]})
            if party == "bank":
                row["binary"] = str(self.labels["binary"][place])
        with file.open("w", newline="") as text:
            writer = csv.DictWriter(text, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)

    def config(self, served: Served, protocol: str, **train: Any) -> Path:
        data = {"features": [*COLUMNS["bank"], "town"], **KINDS["bank"]}
        quick = dict(protocol_by_name(protocol).quick_params)
        own = {key: quick.pop(key) for key in protocol_by_name(protocol).local_params if key in quick}
        settings = {"name": protocol, "params": quick, **({"local": own} if own else {})}
        return self.active({"shop": served.address}, data=data, protocol=settings, train=train)

    def table(self, party: str, rows: Any) -> Table:
        """What the party trains on."""
        columns: dict[str, Any] = {name: self.values[name][rows] for name in COLUMNS[party]}
        columns |= {name: [self.texts[name][row] for row in rows] for name in EXTRA[party]}
        names = {key: tuple(value) for key, value in KINDS[party].items()}
        return Table.read(
            columns, party=party, kinds=ColumnKinds(secret=(self.folder / f"{party}.key").read_bytes(), **names)
        )


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> CategoryWorld:
    return CategoryWorld(tmp_path_factory.mktemp("categories"))


@pytest.fixture(scope="module")
def shop(people: CategoryWorld) -> Iterator[Served]:
    found = Served(people.passive("shop", data={"train": "shop.csv", **KINDS["shop"]}, consent=OPEN_CONSENT))
    try:
        yield found
    finally:
        code = found.stop()
    assert code == 0


@pytest.mark.parametrize(
    ("protocol", "train"), [("ot_shares", {}), ("batch_he", {}), ("plain", {}), ("sealed", {"max_cat_to_onehot": 20})]
)
def test_the_model_is_the_one_of_a_single_process(
    people: CategoryWorld, shop: Served, vfxgb: Any, tmp_path: Path, protocol: str, train: dict[str, Any]
) -> None:
    config = people.config(shop, protocol, **train)
    assert vfxgb("train", config, "--quiet") == 0
    run = last_run(config)
    model = joined(people, run.run, ("bank", "shop"))
    assert model.pooled.right_codes
    if protocol == "sealed":
        return
    rows = people.agreed(run)
    tables = {party: people.table(party, rows) for party in EXTRA}
    params = TrainParams.from_dict({**SIZES, **TRAIN["binary"], **train, "n_jobs": 1})
    found = fit_tables(tables, "bank", people.labels["binary"][rows], None, len(rows), params, "plain")
    reference = FittedModel(found.active_share, found.passive_shares)
    assert exported(model, tmp_path) == exported(reference, tmp_path)


def test_scores_of_new_rows_read_categories_as_training_did(
    people: CategoryWorld, shop: Served, vfxgb: Any, tmp_path: Path
) -> None:
    config = people.config(shop, "ot_shares")
    assert vfxgb("train", config, "--quiet") == 0
    # The same rows, one of a town that nobody came from before, and one without any.
    with (people.folder / "bank.csv").open() as text:
        given = [row for row in csv.DictReader(text) if people.has["shop"][int(np.searchsorted(people.ids, row["id"]))]]
    names = [given[0]["id"], given[1]["id"]]
    tables = {
        "unknown": [{**row, "town": "Worms"} for row in given[:2]],
        "none": [{**row, "town": ""} for row in given[:2]],
    }
    scores = {}
    for name, rows in tables.items():
        file, output = tmp_path / f"{name}.csv", tmp_path / f"{name}-scores.csv"
        with file.open("w", newline="") as text:
            writer = csv.DictWriter(text, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        assert vfxgb("predict", config, file, output) == 0
        lines = [line.split(",") for line in output.read_text().splitlines()[1:]]
        assert [line[0] for line in lines] == names
        scores[name] = [float(line[1]) for line in lines]
    assert scores["unknown"] == scores["none"]
    output = tmp_path / "all.csv"
    assert vfxgb("predict", config, people.folder / "bank.csv", output) == 0
    known = [line.split(",") for line in output.read_text().splitlines()[1:]]
    scored = [(name, float(score)) for name, score in known if score]
    labels = np.array([people.labels["binary"][np.searchsorted(people.ids, name)] for name, _ in scored])
    values = np.array([score for _, score in scored])
    assert values[labels == 1].mean() > values[labels == 0].mean() + 0.1


def test_names_of_categories_stay_with_their_owner(people: CategoryWorld, shop: Served, vfxgb: Any) -> None:
    config = people.config(shop, "ot_shares")
    assert vfxgb("train", config, "--quiet") == 0
    at_rest(shop.folder)
    run = last_run(config).run
    kept = {party: people.folder / f"{party}-folder" for party in EXTRA}
    own = {
        party: b"".join(file.read_bytes() for file in (folder / "runs" / run).iterdir())
        for party, folder in kept.items()
    }
    assert b"nurse" in own["shop"]
    assert b"Husum" in own["bank"]
    assert b"nurse" not in own["bank"]
    assert b"Husum" not in own["shop"]


def test_a_column_is_not_both(people: CategoryWorld, vfxgb: Any, capsys: pytest.CaptureFixture[str]) -> None:
    config = people.active({"shop": "127.0.0.1:1"}, name="both", data={"categorical": ["a0"], "dates": ["a0"]})
    assert vfxgb("check", config) != 0
    assert "categorical and dates of [data] both name 'a0'" in capsys.readouterr().err


def test_a_column_that_is_not_there_is_no_category(people: CategoryWorld) -> None:
    file = people.passive("shop", name="misspelt", data={"train": "shop.csv", "categorical": ["jbo"]})
    config = load_config(file, {})
    with pytest.raises(ColumnNameError, match=r"categorical or dates of .* names 'jbo', wanted columns in use: p0"):
        read_table(config, config.data.train, "train")

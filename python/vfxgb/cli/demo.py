"""`vfxgb demo`: a bank and a shop train a model together, as two processes, with encryption on.

Certificates are made, ids aligned, a model trained with `ot_shares` over mutual TLS, unseen people scored, and the
scores compared with a model of all data in one place and with one of the bank's data alone.
"""

import argparse
import csv
import json
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.cli.exits import BUG, OK
from vfxgb.cli.parser import Commands, UsageError, positive_int
from vfxgb.metric import METRICS
from vfxgb.protocols import protocol_by_name, shipped_protocols

DEFAULT_TREES = 20
DEFAULT_FOLDER = "vfxgb-demo"
MEGA = 1e6
# The same trees by another program: rounding in float32 may differ in the last digits.
TOLERANCE = 0.005
OWN = "vfxgb, one process"


def add(commands: Commands) -> None:
    """Add `demo` to the commands."""
    parser = commands.add_parser(
        "demo",
        help="a bank and a shop train together, as two processes",
        description="Makes certificates, starts a shop and a bank as two processes that meet over mutual TLS, aligns "
        "their customers by private set intersection, trains with secret sharing, scores unseen customers, and "
        "compares: with a model of all data in one place, and with the bank alone. Prints what each side learned and "
        "where the files are. Takes less than a minute and leaves nothing running.",
    )
    specs = (protocol_by_name(name) for name in shipped_protocols())
    safe = tuple(spec.name for spec in specs if spec.exact and spec.security == "semi-honest")
    parser.add_argument("--out", metavar="FOLDER", type=Path, default=None, help=f"a new folder ({DEFAULT_FOLDER})")
    parser.add_argument("--trees", type=positive_int, default=DEFAULT_TREES, help="(%(default)s)")
    parser.add_argument("--protocol", choices=safe, default="ot_shares", help="(%(default)s)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the demo; 0 if the joint model scores like the pooled one, else 1."""
    from vfxgb.cli.demo_data import make_tables
    from vfxgb.cli.demo_parties import command, serving, write_bank, write_configs
    from vfxgb.files import make_private
    from vfxgb.transport.network.certificates import issue, make_authority

    begin = time.perf_counter()
    folder = _new_folder(arguments.out)
    make_private(folder / "certs")
    authority = make_authority(folder / "certs")
    for party in ("bank", "shop"):
        issue(authority, party, ("localhost",), 30, folder / "certs")
    pooled = make_tables(folder)
    print(f"data       {pooled.source}: bank {len(pooled.bank)} columns and the label, shop {len(pooled.shop)} columns")
    write_configs(folder, arguments.protocol, arguments.trees)
    with serving(folder) as address:
        print(f"parties    two processes, mutual TLS, the shop at {address}; protocol {arguments.protocol}", flush=True)
        write_bank(folder, address, arguments.protocol, arguments.trees)
        command("train", str(folder / "bank.toml"))
        command(
            "predict", str(folder / "bank.toml"), str(folder / "bank_test.csv"), str(folder / "scores.csv"), "--quiet"
        )
    record, ledgers = _results(folder)
    sent = record["traffic"]["shop"]
    print(
        f"alignment  {record['rows']['train']:,} of the bank's {record['rows']['own']:,} training customers are the "
        "shop's too"
    )
    print(
        f"training   {record['rounds']} trees in {record['seconds']:.1f} s, "
        f"{(sent['wire_sent_bytes'] + sent['wire_received_bytes']) / MEGA:.1f} MB on the wire"
    )
    alike = _compare(pooled, folder / "scores.csv", arguments.trees)
    for party, text in ledgers.items():
        print(f"\nwhat the {party} learned")
        print("\n".join(f"  {line}" for line in text))
    print(f"\nfiles      {folder}: tables, certificates, configurations, scores.csv, one folder per party")
    print(f"           vfxgb report {record['path']} -o report.html")
    print(f"           vfxgb inspect {record['path']}/share.json")
    print(f"done in {time.perf_counter() - begin:.0f} s; nothing is left running")
    return OK if alike else BUG


def _new_folder(wanted: Path | None) -> Path:
    """A folder that was not there. Raises UsageError for one that was asked for and is not empty."""
    if wanted is not None:
        if wanted.exists() and (not wanted.is_dir() or any(wanted.iterdir())):
            raise UsageError(f"vfxgb demo: {str(wanted)!r} is there already and not empty; name another folder")
        wanted.mkdir(parents=True, exist_ok=True)
        return wanted
    number = 1
    while True:
        folder = Path(DEFAULT_FOLDER if number == 1 else f"{DEFAULT_FOLDER}-{number}")
        try:
            folder.mkdir()
        except FileExistsError:
            number += 1
        else:
            return folder


def _results(folder: Path) -> tuple[dict[str, Any], dict[str, list[str]]]:
    """The bank's record of the run, and of each party what its own ledger says it was told."""
    from vfxgb.train.ledger import counted

    (path,) = (folder / "bank-folder" / "runs").iterdir()
    record = {**json.loads((path / "run.json").read_text(encoding="utf-8")), "path": str(path)}
    told: dict[str, list[str]] = {}
    for party in ("bank", "shop"):
        file = folder / f"{party}-folder" / "runs" / path.name / "ledger.json"
        ledger = json.loads(file.read_text(encoding="utf-8"))
        heard = [entry for entry in ledger["entries"] if entry["receiver"] == party and entry["amount"]]
        told[party] = [f"{entry['reveals']} ({counted(entry['amount'], entry['unit'])})" for entry in heard]
    return record, told


def _compare(pooled: Any, file: Path, trees: int) -> bool:
    """Print AUC on unseen customers; True if the joint scores are those of pooled data."""
    with file.open(newline="", encoding="utf-8") as text:
        scores = {line["id"]: line["score"] for line in csv.DictReader(text)}
    joint = np.array([float(scores[pooled.ids[row]]) for row in pooled.test.tolist()])
    labels = pooled.y[pooled.test]
    order = [*pooled.bank, *pooled.shop]
    name, whole = _fit_and_score(pooled, order, trees)
    _, alone = _fit_and_score(pooled, list(pooled.bank), trees)
    difference = float(np.abs(joint - whole).max())
    print(f"\nAUC on {len(labels)} unseen customers")
    print(f"  bank and shop together   {_auc(labels, joint):.4f}   each table stayed with its owner")
    print(
        f"  all data in one place    {_auc(labels, whole):.4f}   {name}; largest difference of a score {difference:.1e}"
    )
    print(f"  the bank alone           {_auc(labels, alone):.4f}")
    return difference < TOLERANCE


def _fit_and_score(pooled: Any, columns: list[int], trees: int) -> tuple[str, NDArray[np.float64]]:
    """A model of these columns in one process, by xgboost if it is installed; its scores of the test rows."""
    train, test = pooled.X[np.ix_(pooled.train, columns)], pooled.X[np.ix_(pooled.test, columns)]
    labels = pooled.y[pooled.train]
    settings: dict[str, Any] = {"n_estimators": trees, "max_depth": 3, "learning_rate": 0.3}
    try:
        xgboost = import_module("xgboost")
    except ImportError:
        from vfxgb.estimator import VFXGBClassifier

        return OWN, VFXGBClassifier(**settings).fit(train, labels).predict_proba(test)[:, 1]
    model = xgboost.XGBClassifier(tree_method="hist", max_bin=256, **settings).fit(train, labels)
    return f"xgboost {xgboost.__version__}", model.predict_proba(test)[:, 1].astype(np.float64)


def _auc(labels: NDArray[np.int64], scores: NDArray[np.float64]) -> float:
    return float(METRICS["auc"](labels.astype(np.float32), scores, None))

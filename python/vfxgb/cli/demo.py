"""`vfxgb demo`: a bank and a shop train a model together, as two processes, with encryption on.

Certificates are made, ids aligned, a model trained with `sealed` over mutual TLS, unseen people scored, and the scores
compared with a model of all data in one place and with one of the bank's data alone.
"""

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING

from vfxgb.cli.exits import BUG, OK
from vfxgb.cli.parser import Commands, UsageError, positive_int
from vfxgb.protocols import protocol_by_name, shipped_protocols

if TYPE_CHECKING:
    from vfxgb.demo.outcome import Comparison

DEFAULT_TREES = 20
DEFAULT_FOLDER = "vfxgb-demo"
DEFAULT_PROTOCOL = "sealed"
MEGA = 1e6


def add(commands: Commands) -> None:
    """Add `demo` to the commands."""
    parser = commands.add_parser(
        "demo",
        help="a bank and a shop train together, as two processes",
        description="Makes certificates, starts a shop and a bank as two processes that meet over mutual TLS, aligns "
        "their customers by private set intersection, trains without opening any sum, scores unseen customers, and "
        "compares: with a model of all data in one place, and with the bank alone. Prints what each side learned and "
        "where the files are. Takes less than a minute and leaves nothing running.",
    )
    specs = (protocol_by_name(name) for name in shipped_protocols())
    # Those that add no noise.
    safe = tuple(spec.name for spec in specs if spec.security == "semi-honest" and (spec.exact or spec.integer_scores))
    parser.add_argument("--out", metavar="FOLDER", type=Path, default=None, help=f"a new folder ({DEFAULT_FOLDER})")
    parser.add_argument("--trees", type=positive_int, default=DEFAULT_TREES, help="(%(default)s)")
    parser.add_argument("--protocol", choices=safe, default=DEFAULT_PROTOCOL, help="(%(default)s)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the demo; 0 if the joint model is as good as the pooled one, and the same where the protocol is exact."""
    from vfxgb.demo.data import make_tables
    from vfxgb.demo.outcome import compare, results
    from vfxgb.demo.parties import command, serving, write_bank, write_configs
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
    record, ledgers = results(folder)
    sent = record["traffic"]["shop"]
    print(
        f"alignment  {record['rows']['train']:,} of the bank's {record['rows']['own']:,} training customers are the "
        "shop's too"
    )
    print(
        f"training   {record['rounds']} trees in {record['seconds']:.1f} s, "
        f"{(sent['wire_sent_bytes'] + sent['wire_received_bytes']) / MEGA:.1f} MB on the wire"
    )
    comparison = compare(pooled, folder / "scores.csv", arguments.trees)
    exact = protocol_by_name(arguments.protocol).exact
    _print_comparison(comparison, exact)
    for party, text in ledgers.items():
        print(f"\nwhat the {party} learned")
        print("\n".join(f"  {line}" for line in text))
    print(f"\nfiles      {folder}: tables, certificates, configurations, scores.csv, one folder per party")
    print(f"           vfxgb report {record['path']} -o report.html")
    print(f"           vfxgb inspect {record['path']}/share.json")
    print(f"done in {time.perf_counter() - begin:.0f} s; nothing is left running")
    return OK if (comparison.alike if exact else comparison.as_good) else BUG


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


def _print_comparison(comparison: "Comparison", exact: bool) -> None:
    print(f"\nAUC on {comparison.customers} unseen customers")
    print(f"  bank and shop together   {comparison.joint:.4f}   each table stayed with its owner")
    rule = f"largest difference of a score {comparison.difference:.1e}" if exact else "its splits by another rule"
    print(f"  all data in one place    {comparison.pooled:.4f}   {comparison.program}; {rule}")
    print(f"  the bank alone           {comparison.alone:.4f}")

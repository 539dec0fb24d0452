"""`vfxgb check`: look at everything before a run."""

import argparse

from vfxgb.cli.exits import OK, PEER, REFUSED, USAGE
from vfxgb.cli.output import write_json
from vfxgb.cli.parser import Commands, add_config
from vfxgb.printable import printable_lines

MARKS = {"good": "ok", "warning": "!!", "bad": "NO"}


def add(commands: Commands) -> None:
    """Add `check` to the commands."""
    parser = commands.add_parser(
        "check",
        help="look at everything before a run",
        description="Reads the data, compares columns and ids, looks at certificates and their dates, asks every peer "
        "whether it would agree to the run, compares versions and clocks, and estimates time, bytes and memory.",
    )
    add_config(parser)
    parser.add_argument("--json", metavar="FILE", default=None, help="write all findings to this file (-: stdout)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the findings; 0 if nothing is wrong, 2 own mistakes, 3 a peer that cannot be met, 4 one that refuses."""
    from vfxgb.party.check import check
    from vfxgb.party.config import load_config

    findings = []
    for finding in check(load_config(arguments.config)):
        findings.append(finding)
        if arguments.json != "-":
            print(f"{MARKS[finding.verdict]}  {finding.subject:<22} {printable_lines(finding.text)}", flush=True)
    shown = ("verdict", "subject", "text")
    write_json([{name: getattr(finding, name) for name in shown} for finding in findings], arguments.json)
    bad = [finding for finding in findings if finding.verdict == "bad"]
    if any(not finding.peer for finding in bad):
        return USAGE
    if any(finding.refused for finding in bad):
        return REFUSED
    return PEER if bad else OK

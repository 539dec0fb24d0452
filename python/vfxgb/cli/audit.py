"""`vfxgb audit`: attack a recorded run and print what its parties could have learned."""

import argparse

from vfxgb.audit import Transcript, audit
from vfxgb.audit.attack import attack_names
from vfxgb.audit.report import AuditReport
from vfxgb.audit.users import attack_names as user_attack_names
from vfxgb.audit.users import audit_users
from vfxgb.cli.parser import Commands
from vfxgb.horizontal.transcript import UsersTranscript, is_users_transcript


def add(commands: Commands) -> None:
    """Add `audit` to the commands."""
    parser = commands.add_parser(
        "audit",
        help="what a curious party could have learned from a recorded run",
        description="Attacks the transcript of a run (fit with record=True, then transcript_.save) as each of its "
        "parties, and says who learns what, with which success, next to the guess of a party that saw nothing. A "
        "transcript holds the private data of all parties of a simulation.",
    )
    parser.add_argument("run_file", metavar="RUN", help="the transcript, a file written by transcript_.save")
    parser.add_argument(
        "--attack",
        "--attacks",
        action="append",
        dest="attack",
        metavar="NAME",
        choices=(*attack_names(), *user_attack_names()),
        help="only this one; repeatable",
    )
    parser.add_argument("--json", metavar="FILE", default=None, help="write all findings to this file")
    parser.add_argument("--plot", metavar="FILE", default=None, help="write a plot to this file (png, svg, pdf)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print the report, and write it where asked. Exit code 0, whatever was found."""
    report = _report(arguments.run_file, arguments.attack)
    print(report.text())
    if arguments.json is not None:
        report.save_json(arguments.json)
    if arguments.plot is not None:
        report.save_plot(arguments.plot)
    return 0


def _report(path: str, attacks: list[str] | None) -> AuditReport:
    """Audit whichever kind of transcript the file holds."""
    if is_users_transcript(path):
        return audit_users(UsersTranscript.load(path), attacks)
    return audit(Transcript.load(path), attacks)

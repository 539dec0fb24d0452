"""`vfxgb report`: a run folder in plain words: what was trained and how well, what it cost, who learned what.

As text on the terminal, or with -o as a page (vfxgb.report).
"""

import argparse
from pathlib import Path
from typing import Any

import msgspec

from vfxgb.cli.output import warn_of_damage, write_json
from vfxgb.cli.parser import Commands, UsageError
from vfxgb.errors import FormatError
from vfxgb.files import write_atomically
from vfxgb.party.alone import compare_alone, read_alone
from vfxgb.party.config import load_config
from vfxgb.party.folder import PartyFolder, RunFolder
from vfxgb.party.record import RunRecord
from vfxgb.report.document import make_document, read_document, read_ledger
from vfxgb.report.page import render
from vfxgb.report.sections.worth import compared
from vfxgb.report.words import shown

# Values of a metric that are shown: the first, the last, and so many between.
SHOWN_ROUNDS = 8
_UNITS = ("B", "kB", "MB", "GB", "TB")


def add(commands: Commands) -> None:
    """Add `report` to the commands."""
    parser = commands.add_parser(
        "report",
        help="a run in plain words: results, costs, who learned what",
        description="Says of a run what was trained and how well, how long it took, what travelled, what each side "
        "learned, which attacks are known, and with which parameters and versions. With -o it writes one file of HTML "
        "with charts and trees, which opens without a network. Reads the run's folder only, and the files named here.",
    )
    parser.add_argument("folder", metavar="FOLDER", help="a run's folder, or a party's (then its latest run)")
    parser.add_argument("--json", metavar="FILE", default=None, help="write everything to this file; - prints it")
    parser.add_argument("-o", "--output", metavar="FILE", default=None, help="write a page of HTML to this file")
    parser.add_argument(
        "--audit", metavar="FILE", default=None, help="for -o: findings that `vfxgb audit --json` wrote"
    )
    parser.add_argument(
        "--share",
        metavar="FILE",
        action="append",
        default=[],
        help="for -o: another party's share of the same run, with its consent; unmasks its splits; repeatable",
    )
    parser.add_argument(
        "--alone",
        metavar="CONFIG",
        default=None,
        help="first train on own columns alone, as this configuration of the run says, and compare; nothing is sent",
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print or write the report. Exit code 0."""
    _check(arguments)
    folder = find_run(Path(arguments.folder))
    if arguments.alone is not None:
        compare_alone(load_config(arguments.alone), folder)
    if arguments.output is not None:
        audit = None if arguments.audit is None else Path(arguments.audit)
        document = read_document(folder, audit, [Path(share) for share in arguments.share])
        file = Path(arguments.output)
        write_atomically(file, render(document).encode())
        print(f"wrote {file}: open it in a browser; it shows what {document['run']['party']} may see")
        return 0
    record, ledger = folder.read(), read_ledger(folder)
    write_json({"run": msgspec.to_builtins(record), "ledger": ledger}, arguments.json)
    if arguments.json is None:
        print(report_text(record, ledger, folder))
    return 0


def _check(arguments: argparse.Namespace) -> None:
    """Raise UsageError for arguments that do not go together."""
    if arguments.output is not None and arguments.json is not None:
        raise UsageError("vfxgb report: found both -o and --json, wanted one of them; run it twice for both files")
    if arguments.output is None and (arguments.audit is not None or arguments.share):
        raise UsageError("vfxgb report: --audit and --share are for the page; name its file with -o, or leave them out")


def find_run(path: Path) -> RunFolder:
    """The run at `path`: its folder, a file in it, or a party's folder, of which the latest. Raises FormatError."""
    if path.is_file():
        path = path.parent
    if (path / "run.json").is_file():
        return RunFolder(path)
    warn_of_damage(PartyFolder(path))
    runs = PartyFolder(path).runs()
    if not runs:
        raise FormatError(
            f"looking for a run in {str(path)!r}: there is no run.json, neither there nor in runs/*; give the folder "
            "of a run, or the folder that a party's configuration names"
        )
    return runs[0]


def report_text(record: RunRecord, ledger: dict[str, Any] | None, folder: RunFolder) -> str:
    """Write the whole report."""
    parts = [
        ("", _what(record)),
        ("in short", _in_short(record, ledger)),
        ("how well", _evals(record)),
        ("alone and together", _worth(record, folder)),
        ("time", _times(record)),
        ("traffic", _traffic(record)),
        ("who learned what", _learned(ledger)),
        ("known attacks", _attacks(record)),
        ("parameters", _table(record.train) + _table(record.protocol_params)),
        ("versions", _table(record.versions)),
        ("files", [f"  {path}" for path in sorted(folder.path.iterdir())] if folder.path.is_dir() else []),
    ]
    blocks = ["\n".join([title, *lines] if title else lines) for title, lines in parts if lines]
    return "\n\n".join(blocks)


def _what(record: RunRecord) -> list[str]:
    with_others = f", with {record.others}" if record.others else ""
    begun = f"begun {record.began:%Y-%m-%d %H:%M:%S} UTC"
    lines = [
        f"run {record.run} as {record.party} ({record.role}) saw it{with_others}",
        f"{record.state}: {record.rounds} of {record.planned_rounds} rounds, {begun}",
    ]
    safety = f", security: {record.security}" if record.security else ""
    sizes = ", ".join(f"{count:,} {what}" for what, count in record.rows.items())
    optional = (
        (record.error, f"ended by: {record.error}"),
        (record.purpose, f"purpose: {record.purpose}"),
        (record.protocol, f"protocol {record.protocol}{safety}"),
        (record.rows, f"rows: {sizes}"),
        (record.features, f"own features ({len(record.features)}): {', '.join(record.features)}"),
        *((True, f"{name}: {shown(value)}") for name, value in record.facts.items()),
        (record.sessions > 1, f"the parties met {record.sessions} times for this run"),
        (record.model, f"model {record.model}"),
    )
    return lines + [line for given, line in optional if given]


def _in_short(record: RunRecord, ledger: dict[str, Any] | None) -> list[str]:
    return [f"  {sentence}" for sentence in make_document(record, ledger, None)["verdict"]]


def _evals(record: RunRecord) -> list[str]:
    lines = []
    for name, metrics in record.evals.items():
        for metric, values in metrics.items():
            if values:
                by_round = ", ".join(f"{place}: {values[place]:.6g}" for place in _places(len(values)))
                lines.append(f"  {name} {metric} by round: {by_round}")
    if lines:
        model = ", ".join(
            f"{name} {metric} {value:.6g}"
            for name, metrics in record.headline().items()
            for metric, value in metrics.items()
        )
        which = "the last" if record.best_iteration is None else "the best"
        lines.insert(0, f"  the model, after round {record.judged_round}, {which}: {model}")
    if record.best_iteration is not None:
        score = "" if record.best_score is None else f" ({record.best_score:.6g})"
        lines += [f"  best round: {record.best_iteration}{score}", f"  {record.early_stopping()}"]
    return lines


def _worth(record: RunRecord, folder: RunFolder) -> list[str]:
    """What own columns reach alone, where that was compared."""
    alone = read_alone(folder)
    rows = [] if alone is None else compared(msgspec.json.decode(msgspec.json.encode(record)), alone)
    return [f"  {what}: alone {apart}, together {joint} ({gain}): {said}" for what, apart, joint, gain, said in rows]


def _places(count: int) -> list[int]:
    """Some rounds of so many, the first and the last among them."""
    if count <= SHOWN_ROUNDS:
        return list(range(count))
    return sorted({round(i * (count - 1) / (SHOWN_ROUNDS - 1)) for i in range(SHOWN_ROUNDS)})


def _times(record: RunRecord) -> list[str]:
    lines = [f"  {record.seconds:.1f} s in all"] if record.seconds else []
    for party, phases in record.timings.items():
        longest = sorted(phases.items(), key=lambda item: -item[1])
        lines.append(f"  {party}: " + ", ".join(f"{phase} {seconds:.2f} s" for phase, seconds in longest))
    if record.operations:
        lines.append("  done: " + ", ".join(f"{count:,} x {what}" for what, count in record.operations.items()))
    return lines


def _traffic(record: RunRecord) -> list[str]:
    lines = []
    for peer, traffic in record.traffic.items():
        wire = traffic.wire_sent_bytes + traffic.wire_received_bytes
        lines.append(
            f"  {peer}: {_size(traffic.sent_bytes)} to it in {traffic.sent_messages:,} messages, "
            f"{_size(traffic.received_bytes)} from it in {traffic.received_messages:,}, {traffic.round_trips:,} round "
            "trips" + (f"; {_size(wire)} on the wire" if wire else "")
        )
    return lines


def _learned(ledger: dict[str, Any] | None) -> list[str]:
    text = "" if ledger is None else ledger.get("text")
    return [f"  {line}" for line in text.splitlines()] if isinstance(text, str) else []


def _attacks(record: RunRecord) -> list[str]:
    if record.attacks:
        return [f"  - {attack}" for attack in record.attacks]
    return ["  none is known against this protocol beyond what the messages above reveal"] if record.protocol else []


def _table(values: dict[str, Any]) -> list[str]:
    return [f"  {name} = {shown(value)}" for name, value in values.items()]


def _size(count: float) -> str:
    for unit in _UNITS:
        if count < 1000 or unit == _UNITS[-1]:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return ""

"""`vfxgb report`: a run folder in plain words: what was trained and how well, what it cost, who learned what."""

import argparse
import datetime as dt
import json
from pathlib import Path
from typing import Any

import msgspec

from vfxgb.cli.output import write_json
from vfxgb.cli.parser import Commands
from vfxgb.errors import FormatError
from vfxgb.party.folder import LEDGER_FORMAT, PartyFolder, RunFolder, RunRecord

# Values of a metric that are shown: the first, the last, and so many between.
SHOWN_ROUNDS = 8
_UNITS = ("B", "kB", "MB", "GB", "TB")


def add(commands: Commands) -> None:
    """Add `report` to the commands."""
    parser = commands.add_parser(
        "report",
        help="a run in plain words: results, costs, who learned what",
        description="Says of a run what was trained and how well, how long it took, what travelled, what each side "
        "learned, which attacks are known, and with which parameters and versions. Reads the run's folder only.",
    )
    parser.add_argument("folder", metavar="FOLDER", help="a run's folder, or a party's (then its latest run)")
    parser.add_argument("--json", metavar="FILE", default=None, help="write everything to this file; - prints it")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Print or write the report. Exit code 0."""
    folder = find_run(Path(arguments.folder))
    record, ledger = folder.read(), read_ledger(folder)
    if arguments.json is not None:
        write_json({"run": msgspec.to_builtins(record), "ledger": ledger}, arguments.json)
    else:
        print(report_text(record, ledger, folder))
    return 0


def find_run(path: Path) -> RunFolder:
    """The run at `path`: its folder, a file in it, or a party's folder, of which the latest. Raises FormatError."""
    if path.is_file():
        path = path.parent
    if (path / "run.json").is_file():
        return RunFolder(path)
    runs = PartyFolder(path).runs()
    if not runs:
        raise FormatError(
            f"looking for a run in {str(path)!r}: there is no run.json, neither there nor in runs/*; give the folder "
            "of a run, or the folder that a party's configuration names"
        )
    return runs[0]


def read_ledger(folder: RunFolder) -> dict[str, Any] | None:
    """ledger.json, None if there is none yet. Raises FormatError."""
    where = f"reading {str(folder.ledger_file)!r}"
    if not folder.ledger_file.is_file():
        return None
    try:
        document = json.loads(folder.ledger_file.read_bytes())
    except ValueError as error:
        raise FormatError(f"{where}: it is no JSON document ({error})") from None
    if not isinstance(document, dict) or document.get("format") != LEDGER_FORMAT:
        raise FormatError(f"{where}: it is no ledger")
    return document


def report_text(record: RunRecord, ledger: dict[str, Any] | None, folder: RunFolder) -> str:
    """The whole report."""
    parts = [
        ("", _what(record)),
        ("how well", _evals(record)),
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
    began = dt.datetime.fromtimestamp(record.started, dt.timezone.utc)
    with_whom = ", ".join(party for party in record.parties if party != record.party)
    lines = [
        f"run {record.run} as {record.party} ({record.role}) saw it" + (f", with {with_whom}" if with_whom else ""),
        f"{record.state}: {record.rounds} of {record.planned_rounds} rounds, begun {began:%Y-%m-%d %H:%M:%S} UTC",
    ]
    if record.error:
        lines.append(f"ended by: {record.error}")
    if record.purpose:
        lines.append(f"purpose: {record.purpose}")
    if record.protocol:
        safety = f", security: {record.security}" if record.security else ""
        lines.append(f"protocol {record.protocol}{safety}")
    if record.rows:
        lines.append("rows: " + ", ".join(f"{count:,} {what}" for what, count in record.rows.items()))
    if record.features:
        lines.append(f"own features ({len(record.features)}): {', '.join(record.features)}")
    lines += [f"{name}: {_shown(value)}" for name, value in record.facts.items()]
    if record.sessions > 1:
        lines.append(f"the parties met {record.sessions} times for this run")
    if record.model:
        lines.append(f"model {record.model}")
    return lines


def _evals(record: RunRecord) -> list[str]:
    lines = []
    for name, metrics in record.evals.items():
        for metric, values in metrics.items():
            if values:
                shown = ", ".join(f"{place}: {values[place]:.6g}" for place in _places(len(values)))
                lines.append(f"  {name} {metric} by round: {shown}")
    if record.best_iteration is not None:
        score = "" if record.best_score is None else f" ({record.best_score:.6g})"
        lines.append(f"  best round: {record.best_iteration}{score}")
    return lines


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
    return [f"  {name} = {_shown(value)}" for name, value in values.items()]


def _shown(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, default=str, ensure_ascii=False)


def _size(count: float) -> str:
    for unit in _UNITS:
        if count < 1000 or unit == _UNITS[-1]:
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1000
    return ""

"""`vfxgb bench ops`: the table and the JSON of the measurements made by measure.py."""

from dataclasses import asdict
from typing import Any

from vfxgb.bench.lines import MEGA, Column, Columns
from vfxgb.bench.ops import phe_peer
from vfxgb.bench.ops.argmaxes import ArgmaxOperation
from vfxgb.bench.ops.lattice import LatticeMeasurement
from vfxgb.bench.ops.measure import BenchResult, BenchSettings, Memory, Operation
from vfxgb.bench.ops.paths import PathOperation
from vfxgb.bench.ops.transfers import TransferOperation

COLUMNS = Columns(name_width=32, width=12)


def heading(settings: BenchSettings) -> str:
    """Say what is measured."""
    return (
        f"{settings.bits}-bit keys, batches of {settings.count}, median of {settings.repeats}; "
        "microseconds per operation"
    )


def table_lines(result: BenchResult) -> list[str]:
    """The printed table: one line per operation, then phe's own times, memory, transfers, argmaxes, how to have phe."""
    threads = result.settings.threads
    peers = {peer.name: peer.microseconds(threads[0]) for peer in result.phe}
    headings = [f"{count} thread{'s' if count > 1 else ''}" for count in threads]
    if len(threads) > 1:
        headings.append("speed-up")
    if peers:
        headings.append("x phe")
    lines = [COLUMNS.line("", headings)]
    lines += [COLUMNS.line(f"{op.scheme}: {op.name}", _cells(op, threads, peers)) for op in result.operations]
    lines += [COLUMNS.line(f"phe, raw: {peer.name}", [_number(peer.microseconds(threads[0]))]) for peer in result.phe]
    lines.append("")
    lines += [_memory_line(memory) for memory in result.memory]
    lines += ["", *_transfer_lines(result.transfers, threads)]
    lines += ["", *_argmax_lines(result.argmaxes, threads)]
    if not result.phe:
        lines += ["", phe_peer.INSTALL_HINT]
    return lines


def lattice_lines(found: list[LatticeMeasurement], threads: int) -> list[str]:
    """Lattice sums: a table of trees and one of set-ups, in processor seconds of both parties together."""
    trees: list[Column] = [
        ("rows", lambda m: f"{m.shape.rows:,}"),
        ("columns", lambda m: f"{m.shape.columns:,}"),
        ("nodes", lambda m: str(m.nodes)),
        ("sums, s", lambda m: f"{m.seconds('sums'):.3f}"),
        ("masks, s", lambda m: f"{m.seconds('masks'):.3f}"),
        ("shares, s", lambda m: f"{m.seconds('shares'):.3f}"),
        ("all, s", lambda m: f"{m.seconds('all'):.3f}"),
        ("MB", lambda m: f"{m.tree_bytes / MEGA:.2f}"),
    ]
    setups: list[Column] = [
        ("passive, s", lambda m: f"{m.setup_seconds['passive']:.2f}"),
        ("active, s", lambda m: f"{m.setup_seconds['active']:.2f}"),
        ("bits a cell", lambda m: f"{m.setup_bits:.1f}"),
    ]
    title = f"a tree, {threads} thread{'s' if threads > 1 else ''}"
    lines = [*COLUMNS.table(title, trees, found), "", *COLUMNS.table("set-up", setups, found), ""]
    return [*lines, *(f"{m.name}: {m.params}" for m in found)]


def lattice_json(found: list[LatticeMeasurement], threads: int, facts: dict[str, str]) -> dict[str, Any]:
    """All raw numbers, in seconds, with the machine."""
    return {"machine": facts, "threads": threads, "lattice": [asdict(each) for each in found]}


def path_lines(found: list[PathOperation], paths: tuple[str, ...]) -> list[str]:
    """Operations by several paths: microseconds of processor time, and the first path's over the last's."""
    lines = [COLUMNS.line("one thread", [*paths, f"{paths[0]}/{paths[-1]}"])]
    for operation in found:
        times = [operation.microseconds(path) for path in paths]
        cells = [*map(_number, times), f"{times[0] / times[-1]:.2f}"]
        lines.append(COLUMNS.line(f"{operation.scheme}: {operation.name}", cells))
    return lines


def paths_json(
    found: list[PathOperation], paths: tuple[str, ...], settings: BenchSettings, facts: dict[str, str]
) -> dict[str, Any]:
    """All raw numbers, in seconds of processor time."""
    by_path = {path: [_operation_json(operation.by_path[path]) for operation in found] for path in paths}
    return {"machine": facts, "settings": asdict(settings), "paths": by_path}


def to_json(result: BenchResult, facts: dict[str, str]) -> dict[str, Any]:
    """All raw numbers, in seconds, with the settings and the machine."""
    return {
        "machine": facts,
        "settings": asdict(result.settings),
        "operations": [_operation_json(operation) for operation in result.operations],
        "phe": [_operation_json(operation) for operation in result.phe],
        "memory": [asdict(memory) for memory in result.memory],
        "transfers": [asdict(transfer) for transfer in result.transfers],
        "argmaxes": [asdict(argmax) for argmax in result.argmaxes],
    }


def _cells(operation: Operation, threads: tuple[int, ...], peers: dict[str, float | None]) -> list[str]:
    times = [operation.microseconds(count) for count in threads]
    cells = [_number(time) for time in times]
    first, last = times[0], times[-1]
    if len(threads) > 1:
        cells.append("" if first is None or last is None else f"{first / last:.2f}")
    if peers:
        peer = peers.get(operation.peer) if operation.peer is not None else None
        cells.append("" if first is None or peer is None else f"{peer / first:.1f}")
    return cells


def _number(microseconds: float | None) -> str:
    return "" if microseconds is None else f"{microseconds:,.2f}"


def _transfer_lines(transfers: list[TransferOperation], threads: tuple[int, ...]) -> list[str]:
    """Random oblivious transfers: nanoseconds of both parties, and bytes."""
    headings = ["threads", "receiver, ns", "sender, ns", "million/s", "bytes each"]
    lines = [COLUMNS.line(f"oblivious transfers, {transfers[0].batch:,} a batch", headings)]
    for transfer in transfers:
        for count in threads:
            receiver, sender = transfer.nanoseconds(count)
            cells = [
                f"{receiver:.1f}",
                f"{sender:.1f}",
                f"{1e3 / (receiver + sender):.1f}",
                f"{transfer.bytes_each:.2f}",
            ]
            lines.append(COLUMNS.line(transfer.name, [str(count), *cells]))
    return lines


def _argmax_lines(argmaxes: list[ArgmaxOperation], threads: tuple[int, ...]) -> list[str]:
    """Argmax on shares: processor time of both parties together, bytes both ways, flights."""
    headings = ["threads", "ahead, us", "flights, us", "bytes ahead", "in flights", "flights"]
    lines = [COLUMNS.line("argmax on shares", headings)]
    for argmax in argmaxes:
        for count in threads:
            ahead, flights = argmax.microseconds(count)
            cells = [f"{ahead:,.2f}", f"{flights:,.2f}", f"{argmax.transfer_bytes:,.0f}", f"{argmax.flight_bytes:,.0f}"]
            lines.append(COLUMNS.line(argmax.name, [str(count), *cells, str(argmax.flights)]))
    return lines


def _memory_line(memory: Memory) -> str:
    return (
        f"{memory.scheme}: {memory.in_memory:.0f} bytes per ciphertext in memory, {memory.on_wire} on the wire, "
        f"{memory.information:.0f} of information ({memory.in_memory / memory.information:.2f} times that in memory)"
    )


def _operation_json(operation: Operation) -> dict[str, Any]:
    return {
        "scheme": operation.scheme,
        "name": operation.name,
        "count": operation.count,
        "peer": operation.peer,
        "seconds": {str(threads): times for threads, times in operation.seconds.items()},
    }

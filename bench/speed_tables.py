"""The tables of docs/speed.md: operations, training, sums over users, from the result files in docs/results.

update_readme.py writes them. Of training, what has no file is left out.
"""

import json
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from origins import COMMANDS, at_commit, origin

RESULTS = Path(__file__).resolve().parent.parent / "docs/results"
DATA = ("give_credit", "default_credit")
COMPARED = (*DATA, "adult")
OPERATIONS = [
    ("encrypt, owner, djn", "encrypt, key owner"),
    ("encrypt, owner, short", "encrypt, key owner, short randomness"),
    ("encrypt, owner, pool", "encrypt from the pool"),
    ("encrypt, public, djn", "encrypt, public key"),
    ("add, in a long sum", "add, in a long sum"),
    ("decrypt", "decrypt"),
]


def load(name: str, folder: Path = RESULTS) -> dict[str, Any]:
    result: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
    return result


def microseconds(operation: dict[str, Any], threads: str = "1") -> float:
    return 1e6 * median(operation["seconds"][threads]) / operation["count"]


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def operation_lines(results: dict[str, Any]) -> list[str]:
    bits = results["settings"]["bits"]
    peers = {peer["name"]: microseconds(peer) for peer in results["phe"]}
    operations = {(operation["scheme"], operation["name"]): operation for operation in results["operations"]}
    lines = [
        f"| {bits}-bit keys, one thread | phe | Paillier | | Okamoto-Uchiyama | |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for name, title in OPERATIONS:
        peer = peers[operations["paillier", name]["peer"]]
        cells = [number(peer)]
        for scheme in ("paillier", "ou"):
            time = microseconds(operations[scheme, name])
            cells += [number(time), f"**{number(peer / time)}x**"]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return lines


def kernel_line(results: dict[str, Any]) -> str:
    medians = {
        run["run_name"]: 1e6 / run["items_per_second"]
        for run in results["benchmarks"]
        if run["aggregate_name"] == "median"
    }
    ours, square, peer = (
        medians[name]
        for name in ("product/avx2/degree:1/bits:4096", "product/avx2/degree:2/bits:2048", "openssl/bits:4096")
    )
    return (
        f"A 4096-bit Montgomery product takes {number(ours)} µs in a batch, {number(square)} µs modulo the square of a "
        f"2048-bit number (a Paillier addition), and {number(peer)} µs in OpenSSL's `BN_mod_mul_montgomery`: "
        f"{peer / ours:.1f} and {peer / square:.1f} times as fast."
    )


def operations_section(folder: Path = RESULTS) -> str:
    """Microseconds per operation, next to phe; and one product, next to OpenSSL."""
    small, large = load("ops_2048.json", folder), load("ops_3072.json", folder)
    machine = small["machine"]
    head = (
        f"Microseconds per operation and speed relative to phe {machine['phe']} (with gmpy2) in the same run; median "
        f"of {small['settings']['repeats']}, batches of {small['settings']['count']:,}; {machine['processor']}, "
        f"{machine['cores']} cores, {machine['kernels'].split()[0]} kernels."
    )
    parts = [
        head,
        "\n".join(operation_lines(small)),
        "\n".join(operation_lines(large)),
        f"{origin('ops_2048.json', small)} The other by `--bits 3072`{at_commit(large['machine'])}.",
        kernel_line(load("montgomery.json", folder)),
    ]
    return "\n\n".join(parts)


def training_section(folder: Path = RESULTS) -> str:
    """Seconds per tree, what each optimisation brings, growth with size, accuracy: as far as there are files."""
    parts: list[str] = []
    for name in (*DATA, "wide"):
        parts += from_file(folder / f"train_{name}.json", training_parts)
    for name in DATA:
        parts += from_file(folder / f"ablation_{name}.json", ablation_parts)
    parts += from_file(folder / "linear.json", linear_parts)
    for name in COMPARED:
        parts += from_file(folder / f"protocols_{name}.json", protocol_parts)
    parts += from_file(folder / "batch_he.json", accuracy_parts)
    parts += from_file(folder / "fedxgb_aggregation.json", aggregation_parts)
    return "\n\n".join(parts)


def from_file(path: Path, write: Callable[[dict[str, Any]], list[str]]) -> list[str]:
    """The parts that `write` makes of a file, and where its numbers come from; nothing if there is no such file."""
    if not path.is_file():
        return []
    results = json.loads(path.read_text(encoding="utf-8"))
    # Results of papers have pages of their own, which say it.
    return [*write(results), *([origin(path.name, results)] if path.name in COMMANDS else [])]


def training_parts(results: dict[str, Any]) -> list[str]:
    measured = results["configurations"]
    lines = [
        "| per tree | seconds | arithmetic alone | ratio | MB sent | MB received | peak MB |",
        "|---|---:|---:|---:|---:|---:|---:|",
    ]
    for line in measured:
        peak = "" if line["peak_bytes"] is None else f"{line['peak_bytes'] / 1e6:,.0f}"
        cells = [number(line["seconds"]), "", ""]
        if line["floor"] is not None:
            cells[1:] = [number(line["floor"]), f"{line['seconds'] / line['floor']:.2f}"]
        sent = ["", ""] if line["name"] == "xgboost" else [f"{line[way] / 1e6:.1f}" for way in ("sent", "received")]
        lines.append(f"| {line['name']} | " + " | ".join([*cells, *sent, peak]) + " |")
    once = [
        f"{line['name']} takes {number(line['once_seconds'])} s and {number(line['once_bytes'] / 1e6)} MB"
        for line in measured
        if line.get("once_bytes")
    ]
    text = [f"Set-up, once per training and not in the table: {'; '.join(once)}."] if once else []
    return [about(results, measured[0]), "\n".join(lines), *text]


def about(results: dict[str, Any], first: dict[str, Any]) -> str:
    settings = results["settings"]
    return (
        f"{first['result']['source']}; depth {settings['depth']}, {settings['bins']} bins, {settings['key_bits']}-bit "
        f"keys, {settings['threads']} threads, both parties in one process on {results['machine']['cores']} cores:"
    )


def ablation_parts(results: dict[str, Any]) -> list[str]:
    """What optimisations bring in operations, which do not depend on how busy the machine is; of the first key."""
    config = results["ablation"][0]["name"].split(",")[0]
    lines = {
        line["name"].removeprefix(f"{config}, "): line
        for line in results["ablation"]
        if line["name"].startswith(f"{config},")
    }

    def more(without: str, operation: str) -> str:
        ratio = lines[f"without {without}"]["operations"][operation] / lines["all on"]["operations"][operation]
        return f"{ratio:.2f} times the {operation}"

    batch, single = lines["batch_he, all off"], lines["secureboost, all off"]
    time = batch["seconds"] / single["seconds"]
    traffic = (batch["sent"] + batch["received"]) / (single["sent"] + single["received"])
    text = (
        f"One optimisation switched off at a time ({config}; {about(results, batch).removesuffix(':')}): "
        f"{more('joint_buckets', 'additions')} without joint buckets, {more('subtract', 'additions')} without "
        f"subtraction of siblings, {more('pack_sums', 'decryptions')} without packed sums. With all of them off "
        f"`batch_he` takes {time:.2f} of the time and {traffic:.2f} of the bytes of `secureboost`."
    )
    return [text]


def linear_parts(results: dict[str, Any]) -> list[str]:
    """One paragraph per configuration; where there is a set-up, its seconds and megabytes, too."""
    by_config: dict[str, list[dict[str, Any]]] = {}
    for line in results["linear"]:
        by_config.setdefault(line["name"].split(",")[0], []).append(line)
    parts = []
    for config, lines in by_config.items():
        sizes = ", ".join(linear_size(line, config) for line in lines)
        bins = ", bins and set-up" if any(line.get("once_bytes") for line in lines) else ""
        parts.append(f"Growth with rows and features{bins}, one tree of generated tables, {config}: {sizes}.")
    return parts


def linear_size(line: dict[str, Any], config: str) -> str:
    size = f"{line['result']['rows']:,} x ({'+'.join(map(str, line['result']['features']))})"
    if not line.get("once_bytes"):
        return f"{size}: {number(line['seconds'])} s"
    # The name says how many bins, too.
    size = line["name"].removeprefix(f"{config}, ")
    once = f"{number(line['once_seconds'])} s and {number(line['once_bytes'] / 1e6)} MB"
    return f"{size}: {number(line['seconds'])} s after {once}"


def protocol_parts(results: dict[str, Any]) -> list[str]:
    """Protocols side by side; the first is the measure."""
    measured = results["protocols"]
    lines = [
        f"| per tree | seconds | x {measured[0]['name']} | CPU seconds | MB | peak MB |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for line in measured:
        peak = "" if line["peak_bytes"] is None else f"{line['peak_bytes'] / 1e6:,.0f}"
        cells = [
            f"{line['seconds']:.3f}",
            f"{line['seconds'] / measured[0]['seconds']:.2f}",
            f"{line['cpu_seconds']:.3f}",
        ]
        cells += [f"{(line['sent'] + line['received']) / 1e6:.1f}", peak]
        lines.append(f"| {line['name']} | " + " | ".join(cells) + " |")
    return [about(results, measured[0]), "\n".join(lines)]


def accuracy_parts(results: dict[str, Any]) -> list[str]:
    non_batch, plain, xgboost = (
        f"{results['differences'][f'batch against {other}']:.6f}" for other in ("non-batch", "plain", "xgboost")
    )
    text = (
        "Accuracy: AUC and KS of tables II to IV of the Batch HE paper, measured on fixed splits, differ by at most "
        f"{non_batch} between `batch_he` and `secureboost`, {plain} between `batch_he` and `plain`, and {xgboost} "
        "between `batch_he` and xgboost ([results/batch_he.md](results/batch_he.md))."
    )
    return [text]


def aggregation_parts(results: dict[str, Any]) -> list[str]:
    """One sum over many users: what it costs the server and a user, aggregator by aggregator."""
    if "table" not in results:
        return []
    table = results["table"]["results"]
    bits = list(table)
    size = table[bits[0]]["bcp"]
    heads = [f"{n} bits: server s | user s | user MB out" for n in bits]
    lines = ["| one sum | " + " | ".join(heads) + " |", "|---|" + "---:|" * (3 * len(bits))]
    for label in dict.fromkeys(label for rows in table.values() for label in rows):
        cells = []
        for rows in table.values():
            row = rows.get(label)
            cells += [""] * 3 if row is None else [f"{row['server seconds']:.2f}", f"{row['user seconds']:.3f}"]
            cells += [] if row is None else [f"{row['user sent'] / 1e6:.3f}"]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    about = (
        f"Horizontal: a sum of {size['entries']} entries over {size['users']} users (table III of FEDXGB; 512-bit keys "
        "are the paper's and protect nothing; "
        "[results/fedxgb_aggregation.md](results/fedxgb_aggregation.md)):"
    )
    return [about, "\n".join(lines)]


def network_section(folder: Path = RESULTS) -> str:
    """Alignment of ids, links over TLS, joint prediction, open and hidden: as far as there are files."""
    parts = from_file(folder / "psi.json", alignment_parts) + from_file(folder / "network.json", network_parts)
    parts += from_file(folder / "hidden_prediction.json", hidden_parts)
    return "\n\n".join(parts)


def alignment_parts(results: dict[str, Any]) -> list[str]:
    """Private set intersection, by numbers of ids and parties."""
    lines = [
        "| ids at each party | parties | seconds | MB | peak MB | load average |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for alignment in results["alignments"]:
        peak = "" if alignment["peak_bytes"] is None else f"{alignment['peak_bytes'] / 1e6:,.0f}"
        cells = [
            f"{alignment['ids']:,}",
            str(alignment["parties"]),
            number(median(alignment["seconds"])),
            number(alignment["bytes"] / 1e6),
            peak,
        ]
        lines.append("| " + " | ".join([*cells, f"{alignment['load']:.1f}"]) + " |")
    about = "Alignment, all parties in one process, half of the ids common, with ids already read:"
    return [about, "\n".join(lines)]


def network_parts(results: dict[str, Any]) -> list[str]:
    """What TLS over loopback costs, and joint prediction over it."""
    links = (
        f"Links over loopback with mutual TLS, both ends in one process: {results['megabytes_per_second']:,.0f} MB/s, "
        f"a round trip in {results['round_trip_microseconds']['median']:,.0f} µs (median). Training of "
        f"{results['data']} with `{results['protocol']}` takes {results['ratio']:.2f} times as long as over "
        "memory."
    )
    asked = results["prediction"]
    traffic = (asked["sent_bytes"] + asked["received_bytes"]) / 1e6
    prediction = (
        f"Joint prediction over such a link: {asked['rows']:,} rows, {asked['trees']} trees of depth {asked['depth']}, "
        f"in {number(median(asked['seconds']))} s, {asked['round_trips']} round trips and {number(traffic)} MB."
    )
    return [links, prediction]


def hidden_parts(results: dict[str, Any]) -> list[str]:
    """Hidden prediction next to open prediction, single rows over a slow line, and hidden routing by itself."""
    asked, single, routed = results["prediction"], results["single_rows"], results["routing"]
    lines = [
        "| prediction | seconds | processor s, both parties | MB | round trips | set-up MB |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    for run in asked["runs"]:
        bits = "" if run["transfer_bits"] is None else f" transfers, `transfer_bits` {run['transfer_bits']}"
        times = [number(median(run[name])) for name in ("seconds", "cpu_seconds")]
        size, set_up = (number(run[name] / 1e6) for name in ("bytes", "set_up_bytes"))
        lines.append(f"| {run['kind']}{bits} | {' | '.join(times)} | {size} | {run['round_trips']} | {set_up} |")
    about = (
        f"Hidden prediction next to open prediction in one run: {asked['rows']:,} rows, {asked['trees']} trees of "
        f"depth {asked['depth']} in which the passive party has {asked['passive_splits']:,} splits, one thread each. "
        "Where other work is on the machine, processor time says more:"
    )
    waited = {run["kind"]: run["milliseconds"]["median"] for run in single["runs"]}
    row = (
        f"A single row over a line of {single['delay_ms']:g} ms each way, looked up by its id: {waited['open']:,.0f} "
        f"ms openly, {waited['hidden']:,.0f} ms hidden (median)."
    )
    shapes = ", ".join(str(count) for count in routed["splits"])
    each = "; ".join(
        f"{number(run['bytes'] / 1e6)} MB and {median(run['cpu_seconds']):.2f} s with `transfer_bits` "
        f"{run['transfer_bits']}"
        for run in routed["runs"]
    )
    routing = (
        f"Hidden routing alone: {routed['rows']:,} rows through a tree in which the passive party has {shapes} splits "
        f"a level, processor time of both parties on one thread: {each}."
    )
    return [about, "\n".join(lines), row, *batch_parts(results), routing]


def batch_parts(results: dict[str, Any]) -> list[str]:
    """Batches over a slow line."""
    measured = results["batches"]
    batches = "; ".join(
        f"{run['rows']:,} rows in {median(run['seconds']['ahead']):.2f} s, with each question "
        f"{median(run['seconds']['with each question']):.2f} s"
        for run in measured["runs"]
    )
    words = (
        f"Hidden predictions over such a line of {measured['mbit']:g} Mbit, the transfers of a level sent while the "
        f"answers of the level before are on their way, or with each question: {batches}."
    )
    return [words]

"""Writes the tables of README.md and of other pages (PAGES) from the result files in docs/results.

    python bench/update_readme.py

COMMANDS of origins.py says how the files are made; `vfxgb bench papers` makes those of the papers.
A test compares the pages with what this script would write, so no table can differ from the files.
"""

import re
from collections.abc import Callable
from pathlib import Path
from statistics import mean
from typing import Any

import row_bits_tables
import scale_tables
from origins import origin
from path_tables import paths_section, training_paths_section
from plain_tables import plain_section
from protocol_tables import refused_section, sealed_auc_section, side_by_side_section
from sealed_tables import noise_section as lattice_noise_section
from sealed_tables import sealed_section
from speed_tables import RESULTS, load, microseconds, network_section, number, operations_section, training_section
from split_rule_tables import split_rules_section

ROOT = Path(__file__).resolve().parent.parent
# The operations of README's table, and how ops_2048.json and peers.json name them.
SHORT_OPERATIONS = (
    ("encrypt, key owner", "encrypt, owner, djn", "encrypt"),
    ("encrypt, public key alone", "encrypt, public, djn", "encrypt, public key alone"),
    ("add, in a long sum", "add, in a long sum", "add, in a long sum"),
    ("decrypt", "decrypt", "decrypt"),
)
# As short as HEU's random exponents are: vfxgb's for comparison, with Okamoto-Uchiyama alone.
WEAK = ("encrypt, public key alone, weak randomness", "", "encrypt, public key alone, weak randomness")
SCHEMES = {"paillier": "Paillier", "ou": "Okamoto-Uchiyama"}
OURS = "vfxgb"
# What others have in place of vfxgb's operation: they do not use that the owner of the key encrypts.
COUNTERPART = dict.fromkeys(("encrypt, public key alone", WEAK[2]), "encrypt")
# Configurations of README's training table, and their titles; the first is the measure.
SHORT_TRAINING = (
    ("xgboost", "xgboost, pooled data"),
    ("plain", "`plain`"),
    ("sealed", "`sealed`"),
    ("ot_shares", "`ot_shares`"),
    ("batch_he ou-djn", "`batch_he`, Okamoto-Uchiyama"),
    ("batch_he paillier-djn", "`batch_he`, Paillier"),
)
TREES = 50
# Megabits per second of a line, and what to call it.
LINES = ((1000, "1 Gbit/s"), (100, "100 Mbit/s"), (10, "10 Mbit/s"))
# The methods of docs/results/noise_cost.json in the order of the table.
NOISE_METHODS = ("plain", "active party alone", "ldp", "ldp, last stage", "ldp, unbiased", "FederBoost")


def demo_section(folder: Path = RESULTS) -> str:
    """What the demo prints: its parties, and the comparison at its end."""
    text = (folder / "demo.txt").read_text(encoding="utf-8")
    parties, scores = (re.search(pattern, text) for pattern in (r"data .*\nparties .*\n", r"AUC on .*\n(  .*\n)+"))
    if parties is None or scores is None:
        raise SystemExit("docs/results/demo.txt is not what `vfxgb demo` prints; make it again")
    return f"```text\n{parties[0]}...\n{scores[0]}...\n```"


def readme_section(folder: Path = RESULTS) -> str:
    """The two small tables of README.md."""
    return "\n\n".join([*short_operations(folder), *short_training(folder)])


def short_operations(folder: Path) -> list[str]:
    """Operations next to every library that was measured in the same run; next to phe while there is no such run."""
    results = peers_file(folder)
    return phe_operations(folder) if results is None else peer_operations(results, results["settings"]["bits"][0])


def peers_file(folder: Path) -> dict[str, Any] | None:
    """What `vfxgb bench peers` wrote; None if it did not, or only to see that it works."""
    results = load("peers.json", folder) if (folder / "peers.json").is_file() else None
    return None if results is None or results["settings"]["quick"] else results


def peers_section(folder: Path = RESULTS) -> str:
    """For docs/speed.md: operations by key size, next to other libraries."""
    results = peers_file(folder)
    if results is None:
        return "`vfxgb bench peers` has not been run at full size yet."
    parts = [part for bits in results["settings"]["bits"] for part in peer_operations(results, bits)]
    about = "In brackets: how many times as fast vfxgb is. Trainings, settings and notes: [peers.md](results/peers.md)."
    named = dict.fromkeys(line["peer"] for line in results["operations"])
    notes = [f"- {results['peers'][peer]['title']}: {'; '.join(results['peers'][peer]['notes'])}." for peer in named]
    return "\n\n".join([about, *parts, "\n".join(notes), origin("peers.json", results)])


def peer_operations(results: dict[str, Any], bits: int) -> list[str]:
    """Microseconds with keys of so many bits; in brackets how many times as fast vfxgb is."""
    times_by_peer = {
        (line["peer"], line["scheme"], line["operation"]): line["microseconds"]
        for line in results["operations"]
        if line["bits"] == bits and not line["wrong"]
    }
    others = list(dict.fromkeys(peer for peer, *_ in times_by_peer if peer != OURS))
    titles = [f"{results['peers'][peer]['title']} {results['peers'][peer]['version']}" for peer in others]
    lines = [
        f"| microseconds, {bits}-bit keys, one thread | vfxgb | " + " | ".join(titles) + " |",
        "|---|---:|" + "---:|" * len(others),
    ]
    for scheme, name in SCHEMES.items():
        for title, _, operation in (*SHORT_OPERATIONS[:2], WEAK, *SHORT_OPERATIONS[2:]):
            ours = times_by_peer.get((OURS, scheme, operation))
            if ours is None:
                if operation == WEAK[2]:
                    continue
                raise SystemExit(f"peers.json has no {operation!r} of {scheme}; measure it again")
            times = [times_by_peer.get((peer, scheme, COUNTERPART.get(operation, operation))) for peer in others]
            cells = ["" if time is None else f"{number(time)} ({number(time / ours)}x)" for time in times]
            lines.append(f"| {name}: {title} | **{number(ours)}** | " + " | ".join(cells) + " |")
    return ["\n".join(lines)]


def phe_operations(folder: Path) -> list[str]:
    """Microseconds of vfxgb and phe; in brackets how many times as fast vfxgb is."""
    results = load("ops_2048.json", folder)
    peers = {peer["name"]: microseconds(peer) for peer in results["phe"]}
    operations = {(operation["scheme"], operation["name"]): operation for operation in results["operations"]}
    head = f"| microseconds, {results['settings']['bits']}-bit keys, one thread | phe {results['machine']['phe']} |"
    lines = [head + " Paillier | Okamoto-Uchiyama |", "|---|---:|---:|---:|"]
    for title, name, _ in SHORT_OPERATIONS:
        peer = peers[operations["paillier", name]["peer"]]
        times = [microseconds(operations[scheme, name]) for scheme in SCHEMES]
        ours = " | ".join(f"{number(time)} ({number(peer / time)}x)" for time in times)
        lines.append(f"| {title} | {number(peer)} | {ours} |")
    return ["\n".join(lines)]


def short_training(folder: Path) -> list[str]:
    tables = [load(f"train_{name}.json", folder) for name in ("give_credit", "default_credit")]
    by_name = [{line["name"]: line for line in table["configurations"]} for table in tables]
    sources = [table["configurations"][0]["result"]["source"] for table in tables]
    settings = tables[0]["settings"]
    size = f"depth {settings['depth']}, {settings['bins']} bins, {settings['key_bits']}-bit keys"
    head = f"| one tree, {size}, {tables[0]['machine']['cores']} cores |"
    lines = [head + "".join(f" {source} |" for source in sources), "|---|" + "---:|" * len(tables)]
    # Files that are older than a protocol lack it.
    for name, title in (line for line in SHORT_TRAINING if all(line[0] in lines_of for lines_of in by_name)):
        cells = [_training_cell(lines_of[name]) for lines_of in by_name]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return ["\n".join(lines)]


def _training_cell(line: dict[str, Any]) -> str:
    traffic = line["sent"] + line["received"]
    sent = f", {traffic / 1e6:.1f} MB" if traffic else ""
    return f"{line['seconds']:.3f} s{sent}"


def costs_section(folder: Path = RESULTS) -> str:
    """What a training costs by protocol and line: computing, then sending, one after the other."""
    results = load("train_give_credit.json", folder)
    by_name = {line["name"]: line for line in results["configurations"]}
    source, settings = results["configurations"][0]["result"]["source"], results["settings"]
    about = (
        f"{TREES} trees of {source}; depth {settings['depth']}, {settings['bins']} bins, {settings['key_bits']}-bit "
        f"keys, {results['machine']['cores']} cores for both parties. Computing was measured; to it is added what the "
        "bytes take on the line, as if nothing were sent while something is computed: an upper bound, more or less."
    )
    lines = [
        "| protocol | computing | traffic | " + " | ".join(f"in all, {title}" for _, title in LINES) + " |",
        "|---|---:|---:|" + "---:|" * len(LINES),
    ]
    for name, title in (line for line in SHORT_TRAINING[1:] if line[0] in by_name):
        line = by_name[name]
        seconds = TREES * line["seconds"] + line["once_seconds"]
        traffic = TREES * (line["sent"] + line["received"]) + line["once_bytes"]
        cells = [duration(seconds), f"{traffic / 1e6:,.0f} MB"]
        cells += [duration(seconds + 8 * traffic / (megabits * 1e6)) for megabits, _ in LINES]
        lines.append(f"| {title} | " + " | ".join(cells) + " |")
    return "\n\n".join([about, "\n".join(lines), origin("train_give_credit.json", results)])


def duration(seconds: float) -> str:
    """Seconds below two minutes, else minutes."""
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


def noise_section(folder: Path = RESULTS) -> str:
    """What epsilon costs: mean AUC over seeds."""
    results = load("noise_cost.json", folder)
    values: dict[tuple[str, str, str], list[float]] = {}
    for key, cell in results["cells"].items():
        data, method, epsilon, _ = key.split("|")
        values.setdefault((data, method, epsilon), []).append(cell["auc"])
    epsilons = sorted({epsilon for _, _, epsilon in values}, key=float)
    heads = " | ".join(f"epsilon {epsilon}" for epsilon in epsilons)
    lines = [f"| AUC | | {heads} |", "|---|---|" + "---:|" * len(epsilons)]
    for data in results["data"]:
        for method in NOISE_METHODS:
            cells = [
                values.get((data, method, epsilon)) or values.get((data, method, epsilons[0])) for epsilon in epsilons
            ]
            shown = [f"{mean(cell):.3f}" if cell else "" for cell in cells]
            lines.append(f"| {data} | {method} | " + " | ".join(shown) + " |")
    settings = results["settings"]
    sizes = ", ".join(f"{rows['train']:,} of {name}" for name, rows in results["data"].items())
    return (
        f"Test AUC, mean over {settings['seeds']} draws of the noise. Training rows: {sizes}. "
        f"{settings['n_estimators']} trees, `max_depth = {settings['max_depth']}`, "
        f"`learning_rate = {settings['learning_rate']:g}`, `reg_lambda = {settings['reg_lambda']:g}`; "
        f"`private_stage_trees = {settings['private_stage_trees']}` in the last stage. "
        "Epsilon of `ldp` is for the labels and the whole training, that of FederBoost for each feature:\n\n"
        + "\n".join(lines)
        + f"\n\n{origin('noise_cost.json', results)}"
    )


def solve_section(folder: Path = RESULTS) -> str:
    """How much of the passive party's binned table was computed, by rows, trees and protocol."""
    results = load("solve.json", folder)
    settings = results["settings"]
    by_run = {(run["rows"], run["trees"], run["protocol"]): run for run in results["runs"]}
    protocols = list(dict.fromkeys(protocol for _, _, protocol in by_run))
    lines = [
        "| rows | trees | equations | equations per row | "
        + " | ".join(f"bins found, `{protocol}`" for protocol in protocols)
        + " | guess |",
        "|---:|---:|---:|---:|" + "---:|" * (len(protocols) + 1),
    ]
    for rows, trees in dict.fromkeys((rows, trees) for rows, trees, _ in by_run):
        runs = [by_run.get((rows, trees, protocol)) for protocol in protocols]
        equations, guess = next((run["equations"], f"{100 * run['guess']:.1f} %") for run in runs if run is not None)
        shares = " | ".join("" if run is None else f"{100 * run['found']:.1f} %" for run in runs)
        lines.append(f"| {rows:,} | {trees} | {equations:,} | {equations / rows:.2f} | {shares} | {guess} |")
    return (
        f"Depth {settings['depth']}, {settings['bins']} bins, {settings['features'][1]} columns at the passive party; "
        "guess: naming the commonest bin of each column.\n\n"
        + "\n".join(lines)
        + f"\n\n{origin('solve.json', results)}"
    )


# page -> name of a part of it, and who writes that
PAGES: dict[str, dict[str, Callable[[Path], str]]] = {
    "README.md": {"demo": demo_section, "protocols": side_by_side_section, "speed": readme_section},
    "docs/speed.md": {
        "peers": peers_section,
        "operations": operations_section,
        "paths": paths_section,
        "training paths": training_paths_section,
        "training": training_section,
        "plain": plain_section,
        "network": network_section,
        "sealed": sealed_section,
    },
    "docs/choosing.md": {"protocols": side_by_side_section, "costs": costs_section, "noise": noise_section},
    "docs/audit.md": {"solve": solve_section, **row_bits_tables.SECTIONS},
    "docs/scale.md": scale_tables.SECTIONS,
    "docs/split_rules.md": {
        "sealed auc": sealed_auc_section,
        "refused": refused_section,
        "split rules": split_rules_section,
    },
    "python/vfxgb/lattice/README.md": {"noise": lattice_noise_section},
}


def updated(page: str, text: str, folder: Path = RESULTS) -> str:
    """The text of a page with all its parts written anew."""
    for name, write in PAGES[page].items():
        begin, end = f"<!-- {name}: written by bench/update_readme.py -->", f"<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n{write(folder)}\n{end}{rest.split(end)[1]}"
    return text


def write_pages(root: Path = ROOT) -> None:
    """Write all parts of all pages of a source tree anew."""
    for page in PAGES:
        file = root / page
        text = updated(page, file.read_text(encoding="utf-8"), root / "docs/results")
        file.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages()

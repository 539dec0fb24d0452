"""The Markdown file of a run, from what its JSON file holds."""

from collections.abc import Mapping, Sequence
from typing import Any

from peers.ratios import COUNTERPART, OURS, training_ratio

SCHEMES = {"paillier": "Paillier", "ou": "Okamoto-Uchiyama"}


def markdown(document: Mapping[str, Any]) -> str:
    """The whole file."""
    lines = ["# vfxgb next to its peers", "", *_head(document), "", *_peers(document)]
    lines += ["", "## Operations", "", *_operations(document)]
    lines += ["", "## Training", "", *_training(document)]
    lines += ["", "## Again", "", *_again(document)]
    return "\n".join(lines) + "\n"


def number(value: float) -> str:
    """Three digits that mean something."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}" if value >= 0.1 else f"{value:.4f}"


def _head(document: Mapping[str, Any]) -> list[str]:
    machine, load, settings = document["machine"], document["load"], document["settings"]
    quick = " --quick" if settings["quick"] else ""
    commit = f", commit {machine['commit']}" if "commit" in machine else ""
    text = (
        f"Written by `vfxgb bench peers{quick}`, all of it in one run: {machine['processor']}, {machine['cores']} "
        f"cores, kernels {machine['kernels']}, Python {machine['python']}{commit}; load average {load['before']} "
        f"before and {load['after']} after. Every peer runs in a process of its own on one core with one thread. Times "
        "are processor time, which is the clock's on an idle machine and which other programs lengthen less; the "
        "clock's are in peers.json."
    )
    small = ["", "`--quick`: small sizes, to see that it works; nothing follows from these numbers."]
    return [text, *(small if settings["quick"] else [])]


def _peers(document: Mapping[str, Any]) -> list[str]:
    lines = ["| peer | version | |", "|---|---|---|"]
    for peer in document["peers"].values():
        text = "; ".join(peer["notes"])
        if peer["why"]:
            text = f"{peer['state']}: {peer['why']}" + (f"; {peer['install']}" if peer["state"] == "missing" else "")
        lines.append(f"| {peer['title']} | {peer['version'] or ''} | {text} |")
    return lines


def _operations(document: Mapping[str, Any]) -> list[str]:
    measured, settings, peers = document["operations"], document["settings"], document["peers"]
    sizes = settings["sizes"]
    fewer = [f"{peer['title']} {peer['batch']}" for peer in peers.values() if peer["batch"] and peer["version"]]
    but = f" ({', '.join(fewer)}: working one by one, they gain nothing from more)" if fewer else ""
    text = (
        f"Microseconds per ciphertext, and per addition; median of {settings['repeats']}. In brackets: how many times "
        f"as fast vfxgb is. Batches of {sizes['batch']:,}{but}; {sizes['few']} decryptions; sums of "
        f"{sizes['rows']:,} ciphertexts; histograms of {sizes['rows']:,} rows, {sizes['features']} features and "
        f"{sizes['bins']} bins, per row and feature; factors of 16 bits. Every answer was decrypted and compared "
        "before it was timed."
    )
    lines = [text]
    for bits in dict.fromkeys(line["bits"] for line in measured):
        for scheme in dict.fromkeys(line["scheme"] for line in measured):
            part = [line for line in measured if (line["bits"], line["scheme"]) == (bits, scheme)]
            lines += ["", *_operations_table(document, f"{SCHEMES.get(scheme, scheme)}, {bits} bits", part)]
    return lines


def _operations_table(document: Mapping[str, Any], title: str, part: Sequence[Mapping[str, Any]]) -> list[str]:
    cells = {(line["peer"], line["operation"]): line for line in part}
    others = [peer for peer in dict.fromkeys(line["peer"] for line in part) if peer != OURS]
    titles = [document["peers"][peer]["title"] for peer in (OURS, *others)]
    lines = [f"| {title} | {' | '.join(titles)} |", "|---|" + "---:|" * len(titles)]
    for operation in dict.fromkeys(line["operation"] for line in part if line["peer"] == OURS):
        ours = cells[OURS, operation]
        row = [operation, _cell(ours, None)]
        row += [_cell(cells.get((peer, COUNTERPART.get(operation, operation))), ours) for peer in others]
        lines.append(f"| {' | '.join(row)} |")
    return lines


def _cell(line: Mapping[str, Any] | None, ours: Mapping[str, Any] | None) -> str:
    if line is None:
        return ""
    if line["wrong"]:
        return f"wrong: {line['wrong']}"
    text = number(line["microseconds"])
    if ours is None or not ours["microseconds"]:
        return text
    return f"{text} (**{number(line['microseconds'] / ours['microseconds'])}x**)"


def _training(document: Mapping[str, Any]) -> list[str]:
    measured, settings = document["training"], document["settings"]
    plan = settings["plan"]
    text = (
        f"Seconds of one tree after the first, processor time of all parties on one core; depth {plan['depth']}, "
        f"{plan['bins']} bins, learning rate 0.3. Keys and set-up, made once per training, are not in it. AUC: "
        "over the training rows, to show that the trees are worth something."
    )
    lines = [text]
    for data in dict.fromkeys(line["data"] for line in measured):
        for part, against in (("whole", "x xgboost"), ("small", "x batch_he paillier")):
            lines += _training_table(document, [o for o in measured if (o["data"], o["part"]) == (data, part)], against)
    lines += [f"\n{label} failed: {why}." for label, why in document["failed_trainings"].items()]
    return lines


def _training_table(document: Mapping[str, Any], part: Sequence[Mapping[str, Any]], against: str) -> list[str]:
    if not part:
        return []
    size = ", with keys of several sizes" if part[0]["part"] == "small" else ""
    lines = ["", f"{part[0]['source']}{size}:", ""]
    lines += [f"| | key bits | seconds per tree | {against} | AUC | trees |", "|---|---:|---:|---:|---:|---:|"]
    for line in part:
        ratio = training_ratio(line, document["training"])
        cells = [
            f"{document['peers'][line['peer']]['title']} {line['trainer']}",
            f"{line['key_bits']}" if line["key_bits"] else "",
            number(line["seconds"]),
            "" if ratio is None else number(ratio),
            f"{line['auc']:.4f}",
            str(line["rounds"]),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return lines


def _again(document: Mapping[str, Any]) -> list[str]:
    others = [peer for name, peer in document["peers"].items() if name != OURS]
    commands = [f"- {peer['title']}: `{peer['install']}`" for peer in others]
    quick = " --quick" if document["settings"]["quick"] else ""
    text = (
        f"`VFXGB_DATA=FOLDER vfxgb bench peers{quick} --out docs/results` measures all of it again. FOLDER holds "
        "give_credit.csv.gz and default_credit.csv.gz; without it generated tables of the same shape stand in, and the "
        "tables above say so. A peer that is not installed is left out and named. To install them:"
    )
    return [text, "", *commands]

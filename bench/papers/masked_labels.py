"""Figures 7 and 13 of papers/002 (MaskedXGBoost): do the passive party's attacks find the labels?

    vfxgb bench papers masked_labels [--quick] [--seeds 5] [--threads 2] [--out FOLDER]

The paper attacks with a network of five layers, trained on gradients it made up until it converges, that is to take the
noise off: it estimates g and h, from which the label follows. There it fails, and the paper concludes that labels are
safe. Here it is run again, next to attackers that know the same and use it: the passive party made the noise, so what
it does not know of a message is one number of two possible values (E41).
"""

import sys
import warnings
from collections.abc import Callable, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import attacked
import cells
import common
import numpy as np
from competitors import EPSILON_PASSIVE, masked_per_row, masked_whole
from dp import grid, legend, panels
from trained import PAPER_NAMES

from vfxgb.errors import InsecureProtocolWarning

MINUTES = (0.5, 15.0)
TABLES: Sequence[str] = tuple(PAPER_NAMES)
EPSILONS: Sequence[float] = (0.5, 2.0, 4.0, 8.0)
DELTAS: Sequence[float] = (1e-3, 1e-2)
BINS = 8
READINGS: dict[str, Callable[..., dict[str, Any]]] = {"theorem 2": masked_whole, "per row": masked_per_row}
NETWORK = "masked-network"
# Names as in `vfxgb audit`, and what each uses of the message.
ATTACKS = {
    NETWORK: "the paper's network, one message",
    "masked-signs": "both signs of the only secret, one message",
    "masked-regression": "least squares on the noise, one message",
    "masked-difference": "the difference of two messages, in which gradients cancel",
}
# The paper's figures have no numbers; these are in its text.
PAPER_ACCURACY = 0.51
Results = dict[str, dict[str, dict[str, list[float]]]]


def key_of(reading: str, epsilon: float, delta: float) -> str:
    """The key of a cell."""
    return f"{reading}|{epsilon:g}|{delta:g}"


@dataclass(frozen=True)
class Attempt:
    """All attacks on one recorded run. `seed` is a number only: nothing about noise is seeded."""

    table: str
    rows: int
    reading: str
    epsilon: float
    delta: float
    seed: int

    @property
    def key(self) -> str:
        """The attempt as text."""
        return f"labels {astuple(self)} {BINS}"

    @property
    def cost(self) -> float:
        """All take about as long."""
        return 1.0

    def __str__(self) -> str:
        return f"{self.table}: {self.reading}, epsilon {self.epsilon:g}, delta {self.delta:g}, run {self.seed + 1}"


def attack(attempt: Attempt) -> dict[str, Any]:
    """Attack -> balanced accuracy of the labels that it claims about the first tree; and what the network says."""
    warnings.simplefilter("ignore", InsecureProtocolWarning)
    table = cells.rows_of(attempt.table, attempt.rows).train
    params = READINGS[attempt.reading](attempt.epsilon, len(table.y), EPSILON_PASSIVE, attempt.delta)
    recorded = attacked.record(table, params, 1, BINS, 1)
    found: dict[str, Any] = {}
    for name in ATTACKS:
        claim = attacked.claims_of(recorded, name, "labels")[0]
        found[name] = attacked.balanced_accuracy(claim.values, recorded.truth.labels[claim.rows] == 1)
        if name == NETWORK:
            found["network"] = claim.detail
    return found


def measure(
    names: Sequence[str],
    rows: int,
    epsilons: Sequence[float],
    deltas: Sequence[float],
    seeds: int,
    out: Path,
    processes: int,
) -> tuple[Results, list[str]]:
    """Table -> reading, epsilon and delta -> attack -> balanced accuracy of each run; and what each network says."""
    attempts = [
        Attempt(name, rows, reading, epsilon, delta, seed)
        for name in names
        for reading in READINGS
        for epsilon in epsilons
        for delta in deltas
        for seed in range(seeds)
    ]
    found = cells.results_of(attack, attempts, out, processes)
    results: Results = {}
    for attempt in attempts:
        key = key_of(attempt.reading, attempt.epsilon, attempt.delta)
        cell = results.setdefault(attempt.table, {}).setdefault(key, {})
        for name in ATTACKS:
            cell.setdefault(name, []).append(found[attempt][name])
    return results, [found[attempt]["network"] for attempt in attempts]


def accuracy_rows(cells: dict[str, dict[str, list[float]]]) -> list[list[str]]:
    """A line for each reading, epsilon and delta."""
    return [[*key.split("|"), *(f"{np.mean(runs):.3f}" for runs in cell.values())] for key, cell in cells.items()]


def draw(run: common.Run, results: Results, epsilons: Sequence[float], delta: float) -> None:
    """A panel for each table."""
    with run.plot(run.name, *grid(len(results)), (3.8, 3.2)) as axes:
        for axis, name in panels(axes, list(results)):
            known = results[name]
            lines = [(r, a) for r in READINGS for a in (NETWORK, "masked-regression", "masked-difference")]
            for place, (reading, attack) in enumerate(lines):
                values = [np.mean(known[key_of(reading, e, delta)][attack]) for e in epsilons]
                axis.plot(epsilons, values, label=f"{attack}, {reading}", **common.line_style(place))
            axis.axhline(0.5, color="black", linewidth=0.8)
            axis.set(
                title=name, xlabel="epsilon of the active party", ylabel="balanced accuracy of labels", ylim=(0.4, 1.03)
            )
        legend(axes)


def conclude(run: common.Run, results: Results) -> None:
    """What the attacks say about the paper's sentences."""

    def span(attack: str, reading: str) -> tuple[float, float]:
        every = [
            float(np.mean(cell[attack]))
            for by in results.values()
            for key, cell in by.items()
            if key.split("|")[0] == reading
        ]
        return min(every), max(every)

    low = f"{min(EPSILONS):g}"
    strict = [
        float(np.mean(cell[NETWORK]))
        for by in results.values()
        for key, cell in by.items()
        if key.startswith(f"theorem 2|{low}|")
    ]
    strict = strict or [span(NETWORK, "theorem 2")[0]]
    whole, per_row = span(NETWORK, "theorem 2"), span(NETWORK, "per row")
    run.found(
        f"The network finds {PAPER_ACCURACY} of the labels at a small budget: no more than chance.",
        max(strict) < 0.6 or "in part",
        f"Balanced accuracy at epsilon {low} {min(strict):.2f} to {max(strict):.2f} with theorem 2's noise, which is "
        f"far larger than gradients. Over all budgets {whole[0]:.2f} to {whole[1]:.2f}, and with noise for one row "
        f"{per_row[0]:.2f} to {per_row[1]:.2f}: what it can resolve, it takes off.",
    )
    best = [span(attack, reading) for attack in ("masked-signs", "masked-difference") for reading in READINGS]
    run.found(
        "So the labels are safe.",
        min(low for low, _ in best) < 0.6,
        f"The attackers that use what the passive party knows find {min(low for low, _ in best):.1%} of the labels at "
        "least, at every epsilon and delta, with either noise (E41). What a network fails to find says nothing about "
        "what is hidden.",
    )
    run.found(
        "Looser budgets make attacks better.",
        "for the network" if whole[1] > whole[0] + 0.02 else "no",
        "For the others there is nothing left to gain: how large the noise is does not matter to who knows it.",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Record, attack, conclude."""
    args = common.parse(common.parser(__doc__, seeds=5), argv)
    warnings.simplefilter("ignore", InsecureProtocolWarning)
    run = common.Run(
        "masked_labels",
        "MaskedXGBoost: labels found by the passive party",
        "figures 7 and 13 of papers/002",
        args,
        "Balanced accuracy of the labels that attacks of `vfxgb audit` claim from what the passive party saw of the "
        "first tree's root: 0.5 is chance, whatever the share of positive labels. At the root noise adapted "
        "to nodes is that of the root.",
    )
    names, epsilons, deltas, rows = TABLES, EPSILONS, DELTAS, 2_000
    if args.quick:
        names, epsilons, deltas, rows, args.seeds = TABLES[1:3], EPSILONS[::3], DELTAS[:1], 500, 1
    run.set(rows=rows, trees=1, depth=1, bins=BINS, W=1, passive_epsilon=EPSILON_PASSIVE)
    for name in names:
        run.use(cells.rows_of(name, rows).train)
    results, networks = measure(names, rows, epsilons, deltas, args.seeds, args.out, args.threads)
    run.table("The attacks", ["name", "uses"], [[name, uses] for name, uses in ATTACKS.items()], left=2)
    converged = sum(text.startswith("converged") for text in networks)
    run.text(f"The network converged in {converged} of {len(networks)} runs (audit/attacks/masked_network.py).")
    for name, by in results.items():
        head = ["noise", "epsilon", "delta", *(attack.removeprefix("masked-") for attack in ATTACKS)]
        run.table(f"{name}: balanced accuracy of labels", head, accuracy_rows(by))
    draw(run, results, epsilons, deltas[0])
    conclude(run, results)
    run.write({"balanced_accuracy": results})
    return 0


if __name__ == "__main__":
    sys.exit(common.guarded(main))

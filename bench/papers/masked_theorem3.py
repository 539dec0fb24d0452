"""Figure 10 of papers/002 (MaskedXGBoost): the delta of theorem 3 against the ratio of the two noises.

    vfxgb bench papers masked_theorem3 [--quick] [--out FOLDER]

The paper draws its bound by simulation, for one noise vector. Here it is computed, next to the exact delta of the same
noise: the least for which (epsilon, delta) holds in both directions when one row changes sides. At least three rows go
left: for fewer `masked` makes no noise that depends on them (E40). Where the exact delta is above the bound, the
theorem is false (E45).
"""

import math
import sys
from collections.abc import Sequence

import common
import numpy as np

from vfxgb.protocols.masked.calibration import largest_ratio, theorem3_delta
from vfxgb.protocols.masked.quadratic import exact_delta

MINUTES = (0.1, 0.2)
EPSILONS = (1.0, 2.0, 4.0, 8.0)
ROWS = 30_000
# Rows on the left; beyond the last nothing changes any more.
LEFT = (3, 4, 6, 12, 64)
LEAST, MOST, POINTS = 0.01, 10.0, 25
Results = dict[str, dict[str, list[float]]]


def measure(epsilons: Sequence[float], ratios: Sequence[float], left: Sequence[int]) -> Results:
    """Epsilon -> "bound" and rows on the left -> delta for each ratio."""
    steps = common.Steps(len(epsilons))
    results: Results = {}
    for epsilon in epsilons:
        steps.begin(f"epsilon {epsilon:g}")
        lines = {"bound": [theorem3_delta(rho, epsilon, ROWS) for rho in ratios]}
        lines |= {f"{rows}": [exact_delta(rho, epsilon, rows) for rho in ratios] for rows in left}
        results[f"{epsilon:g}"] = lines
    return results


def largest(delta: float, epsilon: float, exact: bool, left: Sequence[int]) -> float:
    """The largest ratio at which delta is enough, by the bound or exactly, to a part in a thousand."""

    def enough(rho: float) -> bool:
        if exact:
            return all(exact_delta(rho, epsilon, rows) <= delta for rows in left)
        return theorem3_delta(rho, epsilon, ROWS) <= delta

    low, high = 1e-4, 1e3
    while high / low > 1.001:
        middle = math.sqrt(low * high)
        low, high = (middle, high) if enough(middle) else (low, middle)
    return low


def draw(run: common.Run, results: Results, ratios: Sequence[float]) -> None:
    """A panel for each epsilon."""
    with run.plot(run.name, 1, len(results), (3.6, 3.2)) as axes:
        for axis, (epsilon, lines) in zip(axes[0], results.items(), strict=True):
            for place, (line, deltas) in enumerate(lines.items()):
                label = "theorem 3" if line == "bound" else f"exact, {line} rows left"
                style = common.line_style(place) | {"marker": ""}
                axis.plot(ratios, np.maximum(deltas, 1e-12), label=label, **style)
            axis.axhline(1 / ROWS, color="black", linewidth=0.8)
            axis.set(title=f"epsilon {epsilon}", xlabel="sigma1² / sigma2²", ylabel="delta", ylim=(1e-8, 1))
            axis.set_xscale("log")
            axis.set_yscale("log")
        axes[0][-1].legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))


def limits(epsilons: Sequence[float], left: Sequence[int]) -> dict[str, dict[str, float]]:
    """Epsilon -> the largest ratio by the bound, exactly, and as `masked` calibrates, for delta one over all rows.

    `violated`: the exact delta at the bound's own limit, over that delta. Above 1 the theorem is false there.
    """
    delta = 1.0 / ROWS
    known = {}
    for epsilon in epsilons:
        by_bound = largest(delta, epsilon, exact=False, left=left)
        known[f"{epsilon:g}"] = {
            "bound": by_bound,
            "exact": largest(delta, epsilon, exact=True, left=left),
            "used": largest_ratio(epsilon, delta, ROWS),
            "violated": max(exact_delta(by_bound, epsilon, rows) for rows in left) / delta,
        }
    return known


def conclude(run: common.Run, results: Results, known: dict[str, dict[str, float]]) -> None:
    """What the curves say about the paper's sentences."""
    rising = all(np.all(np.diff(deltas) >= -1e-9) for lines in results.values() for deltas in lines.values())
    run.found(
        "The larger sigma1 against sigma2, the more leaks: delta rises with the ratio.",
        rising,
        "By the bound and exactly, at every epsilon and however many rows go left.",
    )
    false = [epsilon for epsilon, limit in known.items() if limit["violated"] > 1]
    run.found(
        "With that delta the noise is (epsilon, delta)-differentially private.",
        not false,
        (f"False at epsilon {', '.join(false)}: the exact delta is up to " if false else "The exact delta is up to ")
        + f"{max(limit['violated'] for limit in known.values()):.0f} times the bound's (E45). `masked` takes the "
        "smaller ratio of the two.",
    )
    first = next(iter(known))
    share = 2 * known[first]["used"] / (2 * known[first]["used"] + 1)
    run.found(
        "Most of the noise can be put where it does not disturb sums.",
        share > 0.5,
        f"At epsilon {first} a ratio of {known[first]['used']:.3f} is allowed: {share:.0%} of the noise's variance is "
        "of the kind that cancels (E44).",
    )


def main(argv: Sequence[str] | None = None) -> int:
    """Compute, draw, conclude."""
    args = common.parse(common.parser(__doc__), argv)
    run = common.Run(
        "masked_theorem3",
        "MaskedXGBoost: the passive party's guarantee",
        "figure 10 of papers/002",
        args,
        "Nothing is trained. One noise vector (W = 1); the black line in the plot is one over all rows, the paper's "
        "delta.",
    )
    epsilons, points, left = (EPSILONS[::3], 7, LEFT[::4]) if args.quick else (EPSILONS, POINTS, LEFT)
    run.set(rows=ROWS, rows_left=left)
    ratios = np.geomspace(LEAST, MOST, points).tolist()
    results = measure(epsilons, ratios, left)
    known = limits(epsilons, left)
    head = ["epsilon", "by theorem 3", "exact", "`masked` uses", "exact delta at theorem 3's limit, over its delta"]
    rows = [
        [e, *(f"{limit[k]:.3f}" for k in ("bound", "exact", "used")), f"{limit['violated']:.1f}"]
        for e, limit in known.items()
    ]
    run.table(f"Largest sigma1² / sigma2² at delta 1/{ROWS:,}", head, rows)
    draw(run, results, ratios)
    conclude(run, results, known)
    run.write({"ratios": ratios, "delta": results, "limits": known})
    return 0


if __name__ == "__main__":
    sys.exit(common.guarded(main))

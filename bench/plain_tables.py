"""The table of `plain` next to xgboost on docs/speed.md: time of a tree on the clock, and where it goes."""

from pathlib import Path
from statistics import median

from origins import origin
from speed_tables import RESULTS, load


def plain_section(folder: Path = RESULTS) -> str:
    """Milliseconds of a tree with one thread and two, the ratio in one run, and the parts of its processor time."""
    results = load("plain_steps.json", folder)
    settings, processor = results["settings"], results["processor"]
    lines = ["| milliseconds a tree, median | plain | xgboost | ratio |", "|---|---:|---:|---:|"]
    for threads, times in results["clock"].items():
        ours, theirs = (median(times["milliseconds"][name]) for name in ("vfxgb", "xgboost"))
        name = "one thread" if threads == "1" else f"{threads} threads"
        lines.append(f"| {name} | {ours:.2f} | {theirs:.2f} | {times['ratio']:.2f} |")
    native = processor["native"]
    python = processor["tree"] - sum(native.values())
    parts = ["| processor time of a tree, one thread a party, both parties | milliseconds |", "|---|---:|"]
    parts += [f"| {step} | {milliseconds:.2f} |" for step, milliseconds in native.items()]
    parts += [f"| Python: messages, ledger, checks | {python:.2f} |", f"| together | {processor['tree']:.2f} |"]
    return (
        f"{settings['source']}; depth {settings['depth']}, {settings['bins']} bins, both parties in one process; "
        f"{results['repeats']} repeats, in turn with xgboost; "
        f"load average {results['load']:.1f} in the minute before.\n\n"
        + "\n".join(lines)
        + "\n\n"
        + "\n".join(parts)
        + f"\n\nA tree is {processor['calls']:.0f} native calls; what is left to Python is "
        f"{1000 * python / settings['depth']:.0f} µs a level, both parties together.\n\n"
        + origin("plain_steps.json", results)
    )

"""What the phases of a run are, in words; and its stages: finding rows, set-up, rounds."""

from typing import Any

from vfxgb.report.words import plural

# Phase -> what happens in it. The names are those that Timings have; one that is not here stands for itself.
WORDS = {
    "align": "finding the rows that all parties have",
    "wait": "waiting for the other side",
    "set-up": "keys and secrets for the run",
    "key": "making keys",
    "keep": "writing down where the run is, so that it can go on after a break",
    "bin": "sorting values into bins",
    "cuts": "choosing the bounds of bins",
    "gradients": "how far each prediction is off",
    "encode": "turning gradients into whole numbers",
    "encrypt": "encrypting gradients",
    "decrypt": "decrypting sums",
    "send gradients": "sending protected gradients",
    "read gradients": "reading protected gradients",
    "mask": "masking gradients",
    "noise": "making noise",
    "release": "adding noise for differential privacy",
    "pieces": "making random material for comparisons in secret",
    "integers": "turning gradients into whole numbers",
    "compare": "comparing splits in secret",
    "route": "telling in secret which way rows go",
    "sums": "adding up gradients for each candidate split",
    "left sums": "adding up gradients of rows that go left",
    "own sums": "adding up gradients for own candidate splits",
    "own splits": "finding the best of the own splits",
    "choose splits": "choosing the best split of each node",
    "apply splits": "moving rows to the nodes below",
    "partition": "moving rows to the nodes below",
    "score": "scoring candidate splits",
    "open": "opening protected sums",
    "pack": "packing sums into fewer messages",
    "combine": "joining shares",
    "randomise": "blinding what is sent back",
    "count small sums": "counting sums over few rows for the ledger",
    "leaves": "weighing leaves by the rows in them",
    "margins": "updating predictions",
    "evaluate": "computing metrics",
    "private stage": "trees of own columns after the run",
    "sum over users": "adding up what users send",
}
_SETTING_UP = ("set-up", "key")


def phase_words(phase: str) -> str:
    """What a phase is, in words; "" where its name says all that is known."""
    return WORDS.get(phase, "")


def stages(run: dict[str, Any]) -> list[tuple[str, float]]:
    """What happened, in order, with its seconds at this party; a stage that took no time is left out.

    The rest of the time is that of rounds, waiting and the first contact with the others among it.
    """
    own = run["timings"].get(run["party"], {})
    aligned = own.get("align", 0.0)
    prepared = sum(own.get(phase, 0.0) for phase in _SETTING_UP)
    rounds = plural(run["rounds"], "round")
    found = [
        ("Finding the rows that all parties have", aligned),
        ("Setting up keys and secrets", prepared),
        (f"Training {rounds}, waiting and all else included", max(0.0, run["seconds"] - aligned - prepared)),
    ]
    return [(what, seconds) for what, seconds in found if seconds > 0]


def doing(run: dict[str, Any]) -> str:
    """What a run that goes on does now, and what is left at the pace so far; "" for one that has ended."""
    if run["state"] != "running":
        return ""
    done, planned = run["rounds"], run["planned_rounds"]
    if not done:
        return "Now: the parties find the rows that all have and set up; rounds begin after that."
    return f"Now: round {done + 1:,} of {planned:,}." if done < planned else "Now: the parties finish the model."

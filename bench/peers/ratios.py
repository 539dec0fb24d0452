"""How many times the processor time of vfxgb a peer takes, operation by operation and tree by tree."""

from collections.abc import Mapping, Sequence
from typing import Any

from peers.adapter import ENCRYPT, ENCRYPT_PUBLIC, ENCRYPT_PUBLIC_SHORT, ENCRYPT_PUBLIC_WEAK, ENCRYPT_SHORT

OURS = "vfxgb"
# What a peer has in place of an operation that is vfxgb's alone.
COUNTERPART = dict.fromkeys((ENCRYPT_SHORT, ENCRYPT_PUBLIC, ENCRYPT_PUBLIC_SHORT, ENCRYPT_PUBLIC_WEAK), ENCRYPT)
# What trainings with keys are compared with: the same scheme as other encrypted ones.
ENCRYPTED = "batch_he paillier"

Measurement = Mapping[str, Any]


def operation_ratios(measured: Sequence[Measurement]) -> list[dict[str, Any]]:
    """One entry per operation of vfxgb and peer that has it or its counterpart, where both answers were right."""
    ours = [line for line in measured if line["peer"] == OURS and line["microseconds"]]
    others = {
        (line["peer"], line["scheme"], line["bits"], line["operation"]): line["microseconds"]
        for line in measured
        if line["peer"] != OURS and line["microseconds"]
    }
    peers = list(dict.fromkeys(peer for peer, *_ in others))
    ratios = []
    for line in ours:
        operation = line["operation"]
        for peer in peers:
            theirs = others.get((peer, line["scheme"], line["bits"], COUNTERPART.get(operation, operation)))
            if theirs is not None:
                head = {"bits": line["bits"], "scheme": line["scheme"], "operation": operation, "peer": peer}
                ratios.append({**head, "ratio": theirs / line["microseconds"]})
    return ratios


def training_ratio(line: Measurement, measured: Sequence[Measurement]) -> float | None:
    """Times the seconds of what a training is compared with, None where that was not measured.

    On whole tables that is xgboost; on a small one `batch_he` with Paillier and a key of the same size.
    """
    for other in measured:
        if (other["part"], other["data"]) != (line["part"], line["data"]):
            continue
        whole = line["part"] == "whole" and other["peer"] == "xgboost"
        same_key = other["key_bits"] == line["key_bits"] and (other["peer"], other["trainer"]) == (OURS, ENCRYPTED)
        if whole or (line["part"] == "small" and same_key):
            return float(line["seconds"] / other["seconds"])
    return None

"""How many times the processor time of vfxgb a peer takes, operation by operation and tree by tree."""

from collections.abc import Mapping, Sequence
from typing import Any

from peers.adapter import ENCRYPT, ENCRYPT_PUBLIC, ENCRYPT_PUBLIC_SHORT, ENCRYPT_SHORT

OURS = "vfxgb"
# What a peer has in place of an operation that is vfxgb's alone.
COUNTERPART = dict.fromkeys((ENCRYPT_SHORT, ENCRYPT_PUBLIC, ENCRYPT_PUBLIC_SHORT), ENCRYPT)
# What trainings with keys are compared with: the same scheme as other encrypted ones.
ENCRYPTED = "batch_he paillier"

Measurement = Mapping[str, Any]


def operation_ratios(found: Sequence[Measurement]) -> list[dict[str, Any]]:
    """One entry per operation of vfxgb and peer that has it or its counterpart, where both answers were right."""
    ours = [one for one in found if one["peer"] == OURS and one["microseconds"]]
    others = {
        (one["peer"], one["scheme"], one["bits"], one["operation"]): one["microseconds"]
        for one in found
        if one["peer"] != OURS and one["microseconds"]
    }
    peers = list(dict.fromkeys(peer for peer, *_ in others))
    ratios = []
    for one in ours:
        operation = one["operation"]
        for peer in peers:
            theirs = others.get((peer, one["scheme"], one["bits"], COUNTERPART.get(operation, operation)))
            if theirs is not None:
                head = {"bits": one["bits"], "scheme": one["scheme"], "operation": operation, "peer": peer}
                ratios.append({**head, "ratio": theirs / one["microseconds"]})
    return ratios


def training_ratio(one: Measurement, found: Sequence[Measurement]) -> float | None:
    """Times the seconds of what a training is compared with, None where that was not measured.

    On whole tables that is xgboost; on a small one `batch_he` with Paillier and a key of the same size.
    """
    for other in found:
        if (other["part"], other["data"]) != (one["part"], one["data"]):
            continue
        whole = one["part"] == "whole" and other["peer"] == "xgboost"
        same_key = other["key_bits"] == one["key_bits"] and (other["peer"], other["trainer"]) == (OURS, ENCRYPTED)
        if whole or (one["part"] == "small" and same_key):
            return float(one["seconds"] / other["seconds"])
    return None

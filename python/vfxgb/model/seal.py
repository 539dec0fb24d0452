"""The digests that tie the shares of a run together.

Each party commits to its records by a salted hash: salted, because a hash of a few features and cuts alone could be
guessed. The active party hashes the commitments of all parties and the trees into the model digest, which every share
then carries. All are SHA-256 in hexadecimal over canonical JSON; a prefix keeps the digest of one kind of thing from
ever being the digest of another.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import msgspec
from numpy.typing import NDArray

from vfxgb._native.rand import random_bytes
from vfxgb.errors import ShareMismatchError
from vfxgb.model.shares import ActiveShare, PassiveShare, Seal, SplitPaths, SplitRecords

SALT_BYTES = 32


def new_salt() -> str:
    """A fresh secret salt, hexadecimal."""
    return random_bytes(SALT_BYTES).hex()


def _digest(kind: str, content: Any) -> str:
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(f"vfxgb {kind} 1\n{text}".encode()).hexdigest()


def _exact(values: NDArray[Any]) -> list[Any]:
    """An array for a digest: floating-point numbers to the bit, in hexadecimal."""
    entries: list[Any] = values.tolist()
    return [value.hex() for value in entries] if values.dtype.kind == "f" else entries


def commit(run: str, party: str, records: SplitRecords, salt: str, paths: SplitPaths | None = None) -> str:
    """The commitment of `party` to its records, and to their paths where it keeps these."""
    content: dict[str, Any] = {
        "run": run,
        "party": party,
        "salt": salt,
        "features": list(records.features),
        "feature": _exact(records.feature),
        "cut": _exact(records.cut),
        "default_left": _exact(records.default_left),
        "fill": None if records.fill is None else [value.hex() for value in records.fill],
    }
    for name in ("regressions", "leanings", "categories"):
        # Not in the digests of models that have none, as before there were any.
        if getattr(records, name) is not None:
            content[name] = msgspec.to_builtins(getattr(records, name), enc_hook=_exact)
    if paths is not None:
        content["paths"] = msgspec.to_builtins(paths, enc_hook=_exact)
    return _digest("records", content)


def trees_digest(share: ActiveShare) -> str:
    """The digest of what the active party alone holds: structure, leaf weights, start margin, parameters."""
    content = {
        "run": share.run,
        "party": share.party,
        "parties": list(share.parties),
        "n_outputs": share.n_outputs,
        "objective": share.objective,
        "base_margin": _exact(share.base_margin),
        "base_score": _exact(share.base_score),
        "missing_strategy": share.missing_strategy,
        "params": dict(share.params),
        "best_iteration": share.best_iteration,
        # The salt keeps a passive party, which sees this digest, from testing guesses of leaf weights.
        "salt": share.seal.salt,
        "trees": [list(msgspec.to_builtins(tree, enc_hook=_exact).values()) for tree in share.trees],
    }
    return _digest("trees", content)


def model_digest(run: str, parties: tuple[tuple[str, str], ...], trees: str) -> str:
    """The digest every share of a run carries."""
    return _digest("model", {"run": run, "parties": [list(pair) for pair in parties], "trees": trees})


def seal_active(share: ActiveShare, salt: str, commitments: Mapping[str, str]) -> ActiveShare:
    """`share` sealed with the commitments of the passive parties and its own."""
    own = commit(share.run, share.party, share.records, salt)
    parties = tuple((party, own if party == share.party else commitments[party]) for party in share.parties)
    salted = replace(share, seal=Seal(salt=salt))
    trees = trees_digest(salted)
    return replace(share, seal=Seal(salt, own, parties, trees, model_digest(share.run, parties, trees)))


def seal_all(active: ActiveShare, passive: Mapping[str, PassiveShare]) -> tuple[ActiveShare, dict[str, PassiveShare]]:
    """Shares of one process sealed as they stand, as a checkpoint is."""
    salts = {party: new_salt() for party in passive}
    commitments = {
        party: commit(share.run, party, share.records, salts[party], share.paths) for party, share in passive.items()
    }
    sealed = seal_active(active, new_salt(), commitments)
    seal = sealed.seal
    return sealed, {
        party: replace(share, seal=Seal(salts[party], commitments[party], seal.parties, seal.trees, seal.model))
        for party, share in passive.items()
    }


def check_own(share: ActiveShare | PassiveShare) -> None:
    """Raise ShareMismatchError unless a share's contents are those it was sealed with."""
    seal = share.seal
    paths = share.paths if isinstance(share, PassiveShare) else None
    own = commit(share.run, share.party, share.records, seal.salt, paths)
    altered = own != seal.own or dict(seal.parties).get(share.party) != seal.own
    if isinstance(share, ActiveShare):
        altered = altered or trees_digest(share) != seal.trees
    if altered or model_digest(share.run, seal.parties, seal.trees) != seal.model:
        raise ShareMismatchError(
            f"checking the share of party {share.party!r}: its contents do not match its digest; it was altered or "
            "never finished, use an intact copy"
        )


def check_shares(active: ActiveShare, passive: Mapping[str, PassiveShare]) -> None:
    """Raise ShareMismatchError unless the shares are intact, of one run, and one from each party."""
    check_together(active, passive)
    check_own(active)
    for share in passive.values():
        check_own(share)


def check_together(active: ActiveShare, passive: Mapping[str, PassiveShare]) -> None:
    """Raise ShareMismatchError unless there is one share from each party and all say that they are of one run.

    Their contents are not looked at: that is for when a share is loaded or merged.
    """
    wanted = [party for party in active.parties if party != active.party]
    for party in wanted:
        if party not in passive:
            raise ShareMismatchError(
                f"joining shares: the share of party {party!r} is missing, wanted one of each of {list(active.parties)}"
            )
    for party, share in passive.items():
        if party not in wanted or share.party != party:
            raise ShareMismatchError(
                f"joining shares: found a share of party {share.party!r} under the name {party!r}, wanted passive "
                f"parties {wanted}"
            )
        if (share.run, share.seal.model) != (active.run, active.seal.model):
            raise ShareMismatchError(
                f"joining shares: the share of party {party!r} is of another run or another state of it than that of "
                f"{active.party!r}; use the shares that were saved together"
            )

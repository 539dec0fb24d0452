"""What the others' columns are worth to the active party: after a run, the same training on its own columns alone.

It stays in the run's folder as alone.json, which nobody is sent. Nothing is dialled.
"""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import msgspec

from vfxgb.errors import CheckpointError, ConfigError, FormatError
from vfxgb.files import write_atomically
from vfxgb.party.config import PartyConfig
from vfxgb.party.folder import RunFolder
from vfxgb.party.rows import load_rows
from vfxgb.party.session import need_role
from vfxgb.party.tables import agreed, read_table
from vfxgb.party.training_input import read_params, targets_of
from vfxgb.train.alone import train_alone
from vfxgb.train.plan import RunPlan
from vfxgb.train.settings import plain_params
from vfxgb.train.simulate import SimulatedInput

FORMAT = "vfxgb alone"
VERSION = 1


def compare_alone(config: PartyConfig, folder: RunFolder) -> None:
    """Train on this party's columns alone, on the rows and with the parameters of a finished run, and keep what came.

    Raises ConfigError if the configuration is not that of the run, CheckpointError if its rows or tables are gone or
    have changed, and what reading tables and training raise.
    """
    need_role(config, "report --alone", "active")
    where = f"comparing with own columns alone: run {folder.run[:8]}"
    record = folder.read()
    if record.party != config.party or record.state != "finished":
        raise ConfigError(
            f"{where} is {record.state} and of {record.party!r}, wanted a finished run of {config.party!r}, whose "
            f"configuration {str(config.path)!r} is; name the run of that party"
        )
    local = {**config.protocol.params, **config.protocol.local}
    parties = (config.party, *config.peers)
    plan = RunPlan.resolve(config.party, parties, folder.run, read_params(config), config.protocol.name, local)
    settings = msgspec.json.decode(msgspec.json.encode(plain_params(plan.params)))
    changed = [name for name, value in settings.items() if record.train.get(name) != value]
    if changed:
        raise ConfigError(
            f"{where} was trained with other {', '.join(changed)} than [train] of {str(config.path)!r} says; set it as "
            "it was, or train again"
        )
    files = tuple(path for path in (config.data.train, config.data.valid) if path is not None)
    try:
        rows = load_rows(folder.rows_file, folder.run, files)
    except CheckpointError as error:
        raise CheckpointError(f"{where} cannot be compared: {error}") from None
    groups = rows.groups()
    held = [
        read_table(config, path, what, labelled=True) for path, what in zip(files, ("train", "valid"), strict=False)
    ]
    table = agreed([(part.table, group) for part, group in zip(held, groups, strict=True)], rows.digest)
    labels, weights = targets_of(held, groups)
    n_train, n_rows = len(groups[0]), sum(map(len, groups))
    evals = [("train", slice(0, n_train)), *([("valid", slice(n_train, n_rows))] if n_rows > n_train else [])]
    found = train_alone(
        SimulatedInput({config.party: table}, labels, weights, n_train, evals), config.party, plan.params
    )
    document = {"format": FORMAT, "version": VERSION, **asdict(found)}
    write_atomically(folder.alone_file, json.dumps(document, indent=1).encode() + b"\n")


def read_alone(folder: RunFolder) -> dict[str, Any] | None:
    """What `compare_alone` kept, None if it has not run. Raises FormatError."""
    if not folder.alone_file.is_file():
        return None
    file: Path = folder.alone_file
    try:
        document = json.loads(file.read_bytes())
    except ValueError as error:
        raise FormatError(f"reading {str(file)!r}: it is no JSON document ({error}); remove it") from None
    if not isinstance(document, dict) or (document.get("format"), document.get("version")) != (FORMAT, VERSION):
        raise FormatError(
            f"reading {str(file)!r}: it is no comparison with own columns alone, or of another version; remove it, and "
            "run vfxgb report --alone again"
        )
    return document

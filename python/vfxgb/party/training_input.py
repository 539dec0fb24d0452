"""What an active party's configuration comes to: parameters, the request to the others, labels and weights of rows."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vfxgb.errors import ConfigError, LabelError
from vfxgb.objective import spec_of
from vfxgb.params import TrainParams
from vfxgb.party.config import PartyConfig
from vfxgb.party.folder import RunFolder
from vfxgb.party.messages import TrainRequest
from vfxgb.party.tables import PartyTable
from vfxgb.protocols import protocol_by_name
from vfxgb.runtime.secrets import SecretBox


def training_request(config: PartyConfig, params: TrainParams, resume: bool, n_ids: int = 0) -> TrainRequest:
    """Make what the passive parties are asked for. `n_ids` is that of TrainRequest.

    Raises ConfigError for a party's own parameter among those it sends.
    """
    spec = protocol_by_name(config.protocol.name)
    for name in config.protocol.params:
        if name in spec.local_params:
            raise config.mistake(f"{name} of [protocol.params] is each party's own; write it under [protocol.local]")
    return TrainRequest(
        protocol=spec.name,
        protocol_params=dict(config.protocol.params),
        n_trees=params.n_estimators * params.num_class,
        max_depth=params.max_depth,
        min_bucket_rows=params.min_bucket_rows,
        parties=(config.party, *config.peers),
        resume=resume,
        told_sample=params.told_sample,
        n_ids=n_ids,
        split_rule=spec.split_rules[0] if params.split_rule is None else params.split_rule,
    )


def read_params(config: PartyConfig) -> TrainParams:
    """Read [train] as parameters. Raises ConfigError, ParameterError, UnknownNameError."""
    params = TrainParams.from_dict(config.train)
    if params.early_stopping_rounds is not None and config.data.valid is None:
        raise config.mistake("[train] has early_stopping_rounds, which needs valid in [data]")
    if params.monotone_constraints is not None and not isinstance(params.monotone_constraints, Mapping):
        raise config.mistake("[train] has monotone_constraints as a list, wanted a table of this party's columns")
    return params


def check_classes(labels: NDArray[Any] | None, params: TrainParams, party: str, where: str) -> None:
    """Raise LabelError for labels of one class where classes are to be told apart; `where` says whose labels."""
    if labels is None or not spec_of(params.objective).classifies:
        return
    classes = np.unique(labels)
    if len(classes) < 2:
        raise LabelError(
            f"reading labels of party {party!r}: found 1 class, {classes[0].item()!r}, in {where}, wanted at least two "
            "classes; check label in [data], and train on rows that have both"
        )


def secret_box(config: PartyConfig, folder: RunFolder) -> SecretBox | None:
    """Make what seals keys of the run, None if [resume] does not say how. Raises ConfigError, CheckpointError."""
    if config.resume.key_file is not None:
        return SecretBox.by_key_file(folder.path, folder.run, config.resume.key_file)
    passphrase = read_passphrase(config)
    return SecretBox.by_passphrase(folder.path, folder.run, passphrase) if passphrase else None


def read_passphrase(config: PartyConfig) -> str:
    """Read the passphrase that [resume] names, "" if it names none. Raises ConfigError if the environment lacks it."""
    name = config.resume.passphrase_env
    passphrase = os.environ.get(name, "") if name else ""
    if name and not passphrase:
        raise ConfigError(f"sealing keys: the environment has no {name}, which [resume] passphrase_env names; set it")
    return passphrase


def targets_of(
    held: Sequence[PartyTable], groups: Sequence[NDArray[np.int64]]
) -> tuple[NDArray[Any], NDArray[np.float32] | None]:
    """Join the labels and the weights of some rows of each table; there are no weights if no table has any.

    Raises ConfigError for a table without labels.
    """
    labels, weights = [], []
    for part, group in zip(held, groups, strict=True):
        if part.labels is None:
            raise ConfigError("training: a table has no labels")
        labels.append(part.labels[group])
        weights.append(np.ones(len(group), dtype=np.float32) if part.weights is None else part.weights[group])
    weighted = any(part.weights is not None for part in held)
    return np.concatenate(labels), np.concatenate(weights) if weighted else None


def directions(params: TrainParams, names: Sequence[str]) -> NDArray[np.int8] | None:
    """Return the monotone directions of columns, None if there are none."""
    signs = params.constraints(names)
    return np.array(signs, dtype=np.int8) if signs else None

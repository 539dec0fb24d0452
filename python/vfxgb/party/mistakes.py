"""Everything that is wrong with a party's own part of a run, found without a peer and listed at once.

`vfxgb check` lists it; `vfxgb train` raises the first of it, before anybody is asked anything.
"""

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from vfxgb.align import join_ids
from vfxgb.data.labels import read_labels, read_weights
from vfxgb.data.parquet import ParquetSource
from vfxgb.data.table import Table
from vfxgb.errors import ConfigError, LabelError, VfxgbError
from vfxgb.metric import make_metrics
from vfxgb.objective import make_objective, start_margin
from vfxgb.params import TrainParams
from vfxgb.party.config import PartyConfig
from vfxgb.party.tables import PartyTable, column_kinds, column_names, feature_names, read_ids_of, read_numbers
from vfxgb.party.training_input import check_classes, read_params, read_passphrase

MAX_PORT = 65535
# Parameters of [train] that say what others may be, and those others.
_DECIDING = ("objective", "num_class", "sampling_method")
_DECIDED = ("scale_pos_weight", "base_score", "told_sample")


def table_mistakes(config: PartyConfig, path: Path | None, what: str, labelled: bool) -> list[str]:
    """List what is wrong with a table that could not be read: with its ids, columns in use, labels and weights.

    tables.read_table explains `what` and `labelled`. The file is read again for each column, so call this when reading
    has failed.
    """
    if path is None:
        return [f"party {config.party!r}: [data] has no {what}, which this needs; give the path of a table"]
    mistakes = _Mistakes()
    names: list[str] = []
    where = f"reading {what} of party {config.party!r}"
    with mistakes.attempt():
        names = list(column_names(path, where))
    if not names:
        return mistakes.texts
    with mistakes.attempt():
        parts = _id_parts(config, path)
        join_ids(parts, party=config.party, normalise=config.data.normalise)
    for name in _features(config, path, where, mistakes):
        with mistakes.attempt():
            read_through(_column(config, path, name))
    if labelled:
        for name, read in ((config.data.label, read_labels), (config.data.weight, read_weights)):
            if name:
                with mistakes.attempt():
                    values = read_numbers(path, [name], config.party)[name]
                    read(values, len(values), config.party)
    return mistakes.texts


class _Mistakes:
    """Collects mistakes in the order in which they were met, each once."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    @contextmanager
    def attempt(self) -> Iterator[None]:
        """Go on after a mistake within the block, and remember it."""
        try:
            yield
        except (VfxgbError, OSError) as error:
            if str(error) not in self.texts:
                self.texts.append(str(error))


def _id_parts(config: PartyConfig, path: Path) -> Iterable[Any]:
    if path.is_dir():
        return ParquetSource.open(path, without=[config.data.id], party=config.party).groups(config.data.id)
    return [read_ids_of(config, path)]


def _features(config: PartyConfig, path: Path, where: str, mistakes: _Mistakes) -> list[str]:
    """List the columns in use that the table has; those that it lacks are entered in `mistakes`."""
    present: list[str] = []
    # One at a time: each that is lacking is said.
    for names in (None,) if config.data.features is None else ((name,) for name in config.data.features):
        data = msgspec.structs.replace(config.data, features=names)
        with mistakes.attempt():
            present += feature_names(msgspec.structs.replace(config, data=data), path, where)
    return present


def _column(config: PartyConfig, path: Path, name: str) -> Table | ParquetSource:
    if path.is_dir():
        return ParquetSource.open(path, columns=[name], party=config.party, missing=config.data.missing)
    kinds = column_kinds(config)
    return Table.read(path, columns=[name], party=config.party, missing=config.data.missing, kinds=kinds)


def read_through(table: Table | ParquetSource) -> None:
    """Read every value of a table that is in files, a part at a time, to find those that training would refuse."""
    if isinstance(table, Table):
        return
    for first, stop in pairwise(table.parts):
        for feature in range(len(table.names)):
            table.column(feature, first, stop)


def parameter_mistakes(config: PartyConfig) -> tuple[TrainParams | None, list[str]]:
    """What is wrong with [train], every value once, and the parameters without it: None if they cannot be used either.

    A value is looked at by itself, next to those that say what it may be; then all good ones together.
    """
    mistakes = _Mistakes()
    deciding = {name: value for name, value in config.train.items() if name in _DECIDING}
    with mistakes.attempt():
        TrainParams.from_dict(deciding)
    undecided = bool(mistakes.texts)
    good = {} if undecided else dict(deciding)
    for name, value in config.train.items():
        if name not in _DECIDING and not (undecided and name in _DECIDED):
            with mistakes.attempt():
                TrainParams.from_dict({**({} if undecided else deciding), name: value})
                good[name] = value
    params = None
    if not undecided:
        with mistakes.attempt():
            params = read_params(msgspec.structs.replace(config, train=good))
    return params, mistakes.texts


def check_labels(params: TrainParams, held: PartyTable, party: str, what: str) -> None:
    """Raise LabelError for labels of table `what` that [train] cannot learn from or be measured on."""
    if held.labels is None:
        raise LabelError(f"party {party!r}: {what} has no labels, wanted the column that label of [data] names")
    objective = make_objective(params)
    labels = objective.check_labels(held.labels, party)
    if what != "train":
        return
    check_classes(labels, params, party, f"every row of {what}")
    start_margin(objective, params, labels, held.weights)


def check_metrics(params: TrainParams) -> None:
    """Raise ParameterError or UnknownNameError for an eval_metric that there is not, or not for this objective."""
    objective = make_objective(params)
    predictions = objective.transform(np.zeros((2, objective.n_outputs)))
    for metric in make_metrics(params.eval_metric, objective.default_metric, objective.metric_numbers):
        metric(np.zeros(2), predictions)


def check_resume(config: PartyConfig) -> None:
    """Raise ConfigError if what seals the keys of a checkpoint is not there."""
    read_passphrase(config)
    file = config.resume.key_file
    if file is not None and not file.is_file():
        raise ConfigError(f"sealing keys: there is no file {str(file)!r}, which [resume] key_file names")


def address_mistakes(config: PartyConfig) -> list[str]:
    """List addresses in the configuration that are none."""
    given = {f"address of [peers.{name}]": peer.address for name, peer in config.peers.items() if peer.address}
    lowest = dict.fromkeys(given, 1)
    if config.listen:
        # Port 0 leaves the choice to the system.
        given["listen"], lowest["listen"] = config.listen, 0
    if config.metrics.listen:
        given["listen of [metrics]"], lowest["listen of [metrics]"] = config.metrics.listen, 0
    return [
        f"{key}: found {address!r}, wanted host:port with a port from {lowest[key]} to {MAX_PORT}, such as "
        '"shop.example.com:7878"'
        for key, address in given.items()
        if not _is_address(address, lowest[key])
    ]


def _is_address(address: str, lowest: int) -> bool:
    host, _, port = address.rpartition(":")
    bare = host.removeprefix("[").removesuffix("]") if host.startswith("[") else host
    clear = bool(bare) and not re.search(r"[\s/]", bare) and (host != bare or ":" not in bare)
    return clear and port.isascii() and port.isdecimal() and lowest <= int(port) <= MAX_PORT

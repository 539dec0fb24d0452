"""What a passive party agrees to: requests are compared with [consent] of its configuration, and refused by name.

A request is looked at twice: when it is announced (Hello), before anything is computed, and when training is set up
(Setup), which is what binds. A refusal is a ConsentError; its text goes to the party that asked and into the log.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from vfxgb.errors import ConsentError, UnknownNameError
from vfxgb.files import write_atomically
from vfxgb.party.config import ConsentSection
from vfxgb.party.folder import PartyFolder
from vfxgb.party.messages import TrainRequest
from vfxgb.protocols import make_protocol_params, protocol_by_name, shipped_protocols
from vfxgb.train.messages import Setup

# Fields of a protocol's parameters that are sizes of keys or groups.
KEY_SIZES = ("key_bits", "group_bits")


class Consent:
    """One party's consent. `party` is who refuses, for messages."""

    def __init__(self, party: str, section: ConsentSection) -> None:
        self.party = party
        self.section = section

    def check(self) -> None:
        """Raise UnknownNameError for a protocol that does not exist: a slip would refuse what was meant."""
        for name in self.section.protocols or ():
            protocol_by_name(name)

    def purpose(self, asked: str) -> None:
        """Raise ConsentError unless the purpose is one of those agreed to."""
        allowed = self.section.purposes
        if allowed is not None and asked not in allowed:
            raise self._refusal(f"the purpose {asked!r}", f"one of {_listed(allowed)}")

    def training(self, request: TrainRequest) -> None:
        """Raise ConsentError unless such a run is agreed to."""
        self._protocol(request.protocol, request.protocol_params)
        self._sizes(request.max_depth, request.min_bucket_rows)
        self._sample(request.told_sample)
        self._trees(request.n_trees)

    def setup(self, setup: Setup) -> None:
        """The same of what binds. Raises ConsentError."""
        self._protocol(setup.protocol, setup.protocol_params)
        self._sizes(setup.max_depth, setup.min_bucket_rows)
        self._sample(setup.told_sample)
        self._trees(setup.n_rounds * setup.n_outputs)

    def common_rows(self, found: int) -> None:
        """Raise ConsentError if fewer rows are common than this party agrees to work on."""
        least = self.section.min_common_rows
        if found < least:
            raise self._refusal(f"{found} rows in common", f"at least {least}")

    def features(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Those of the columns in use that are offered. Raises ConsentError when none is left."""
        offered = self.section.features
        if offered is None:
            return names
        kept = tuple(name for name in names if name in offered)
        if not kept:
            raise self._refusal("columns, but offers none of those of its table", "at least one")
        return kept

    def _protocol(self, name: str, params: Mapping[str, Any]) -> None:
        allowed = self.section.protocols
        if allowed is None:
            # What another package says about its own protocol is no consent: that one has to be listed.
            allowed = tuple(one for one in shipped_protocols() if protocol_by_name(one).security == "semi-honest")
        if name not in allowed:
            raise self._refusal(f"the protocol {name!r}", f"one of {_listed(allowed)}")
        try:
            spec = protocol_by_name(name)
        except UnknownNameError:
            raise self._refusal(f"the protocol {name!r}", "one that its version of vfxgb has") from None
        if spec.security == "broken" and not self.section.insecure:
            raise self._refusal(f"the protocol {name!r}, which is broken", "insecure = true in its consent for that")
        bits = smallest_key(make_protocol_params(spec, params))
        if bits is not None and bits < self.section.min_key_bits:
            raise self._refusal(f"keys of {bits} bits", f"at least {self.section.min_key_bits}")

    def _sizes(self, depth: int, bucket_rows: int) -> None:
        if self.section.max_depth is not None and depth > self.section.max_depth:
            raise self._refusal(f"trees of depth {depth}", f"at most {self.section.max_depth}")
        if bucket_rows < self.section.min_bucket_rows:
            raise self._refusal(f"min_bucket_rows of {bucket_rows}", f"at least {self.section.min_bucket_rows}")

    def _sample(self, told: bool) -> None:
        if told and not self.section.told_sample:
            raise self._refusal("hearing which rows GOSS chose by their labels", "told_sample = true in its consent")

    def _trees(self, count: int) -> None:
        if self.section.max_trees is not None and count > self.section.max_trees:
            raise self._refusal(f"{count} trees", f"at most {self.section.max_trees}")

    def _refusal(self, found: str, wanted: str) -> ConsentError:
        return ConsentError(f"{self.party} does not agree to {found}, wanted {wanted}; ask {self.party}")


class QueryCount:
    """Rows predicted per model, over all requests and restarts; counted before they are answered."""

    def __init__(self, party: str, folder: PartyFolder, limit: int | None) -> None:
        self._party = party
        self._file = folder.queries_file
        self._limit = limit

    def used(self, model: str) -> int:
        """Rows predicted so far with the model of that run."""
        return self._read().get(model, 0)

    def allow(self, model: str, rows: int) -> None:
        """Raise ConsentError if so many more rows would pass the limit; nothing is counted."""
        used = self.used(model)
        if self._limit is not None and used + rows > self._limit:
            raise ConsentError(
                f"{self._party} does not agree to {rows} more predicted rows of this model, wanted at most "
                f"{max(self._limit - used, 0)}: {used} of {self._limit} are used; ask {self._party}"
            )

    def take(self, model: str, rows: int) -> None:
        """Count rows that are about to be answered. Raises ConsentError beyond the limit, OSError."""
        self.allow(model, rows)
        counts = self._read()
        counts[model] = counts.get(model, 0) + rows
        write_atomically(self._file, msgspec.json.encode(counts) + b"\n")

    def _read(self) -> dict[str, int]:
        try:
            return msgspec.json.decode(self._file.read_bytes(), type=dict[str, int])
        except FileNotFoundError:
            return {}
        except msgspec.DecodeError as error:
            # Starting again at 0 would lift the limit.
            raise ConsentError(
                f"{self._party} cannot read its count of predicted rows and refuses to predict ({error})"
            ) from None


def smallest_key(params: Any) -> int | None:
    """The smallest size of a key or group in a protocol's parameters and what they contain, None if there is none."""
    found: list[int] = []
    for name in getattr(params, "__struct_fields__", ()):
        value = getattr(params, name)
        inner = value if name in KEY_SIZES else smallest_key(value)
        if isinstance(inner, int):
            found.append(inner)
    return min(found, default=None)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(repr(name) for name in names) or "none at all"

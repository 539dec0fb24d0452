"""What a passive party agrees to: requests are compared with [consent] of its configuration, and refused by name.

A request is looked at twice: when it is announced (Hello), before anything is computed, and when training is set up
(Setup), which is what binds. Ids are looked at once more when an alignment or a lookup begins, before anything is
allocated or answered. A refusal is a ConsentError; its text goes to the party that asked and into the log, and names
everything that is not agreed to (Refusals), so that nobody has to ask again and again.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import msgspec

from vfxgb.contract.messages import Setup
from vfxgb.errors import ConsentError, UnknownNameError
from vfxgb.files import write_atomically
from vfxgb.model.shares import CONDITIONAL
from vfxgb.party.folder import PartyFolder
from vfxgb.party.messages import TrainRequest
from vfxgb.party.sections import ConsentSection
from vfxgb.protocols import make_protocol_params, protocol_by_name, shipped_protocols

# Fields of a protocol's parameters that are sizes of keys or groups.
KEY_SIZES = ("key_bits", "group_bits")
# How many ids a peer may bring where consent does not say: so many times the own ones, and at least so many. An id of a
# peer takes 7 bytes while ids are compared, one of this party's own about 170: claims up to here cost less memory than
# the own table does, and a table that is small costs a few megabytes.
CLAIMED_PER_OWN = 16
LEAST_MAX_CLAIMED = 1_000_000


@dataclass
class Refusals:
    """Collects everything that `party` does not agree to in one request, to be told in one answer."""

    party: str
    errors: list[ConsentError] = field(default_factory=list)

    @contextmanager
    def also(self) -> Iterator[None]:
        """Go on after a refusal within the block, and remember it."""
        try:
            yield
        except ConsentError as error:
            self.errors += error.reasons or (error,)

    def hear(self, check: Callable[..., object], *arguments: Any) -> None:
        """Call a check, and remember its refusal."""
        with self.also():
            check(*arguments)

    def tell(self) -> None:
        """Raise ConsentError with all that was refused, if anything was."""
        if len(self.errors) == 1:
            raise self.errors[0]
        if not self.errors:
            return
        begin, end = f"{self.party} does not agree to ", f"; ask {self.party}"
        reasons = [str(error).removeprefix(begin).removesuffix(end) for error in self.errors]
        told = "; ".join(f"({number}) {reason}" for number, reason in enumerate(reasons, 1))
        cause = next((error.__cause__ for error in self.errors if error.__cause__ is not None), None)
        refusal = ConsentError(f"{self.party} does not agree, for {len(reasons)} reasons: {told}{end}")
        refusal.reasons = tuple(self.errors)
        raise refusal from cause


@dataclass(frozen=True)
class Consent:
    """Compares requests with the consent of `party`, which messages name as the one that refuses."""

    party: str
    section: ConsentSection

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
        """Raise ConsentError, naming everything that is too much, unless such a run is agreed to."""
        self._run(request, request.n_trees)

    def accepts(self, request: TrainRequest) -> bool:
        """Return whether the protocol of a run is agreed to; what it would release matters only then."""
        try:
            self._protocol(request.protocol, request.protocol_params)
        except ConsentError:
            return False
        return True

    def setup(self, setup: Setup) -> None:
        """Raise ConsentError in the same way for the set-up of a run, which is what binds."""
        if self.section.prediction == "hidden" and setup.missing_strategy == CONDITIONAL:
            raise self._refusal(
                f"missing_strategy = {CONDITIONAL!r}, whose predictions cannot be hidden",
                "another one, as it agrees to hidden predictions only (prediction)",
            )
        self._run(setup, setup.n_rounds * setup.n_outputs)

    def _run(self, asked: TrainRequest | Setup, n_trees: int) -> None:
        limits, refusals = self.section, Refusals(self.party)
        refusals.hear(self._protocol, asked.protocol, asked.protocol_params)
        depth, rows = asked.max_depth, asked.min_bucket_rows
        refusals.hear(self._at_most, f"trees of depth {depth}", depth, limits.max_depth)
        refusals.hear(self._at_least, f"min_bucket_rows of {rows}", rows, limits.min_bucket_rows)
        if asked.told_sample and not limits.told_sample:
            what = "hearing which rows GOSS chose by their labels"
            refusals.errors.append(self._refusal(what, "told_sample = true in its consent"))
        if limits.split_rules is not None and asked.split_rule not in limits.split_rules:
            what, wanted = f"split_rule = {asked.split_rule!r}", f"one of {_listed(limits.split_rules)} (split_rules)"
            refusals.errors.append(self._refusal(what, wanted))
        refusals.hear(self._at_most, f"{n_trees} trees", n_trees, limits.max_trees)
        refusals.tell()

    def local_params(self, protocol: str, local: Mapping[str, Any]) -> dict[str, Any]:
        """Return this party's own parameters of a protocol: those of [protocol.local], and the limits of its consent.

        Raises ConsentError for a limit of consent that stands in [protocol.local].
        """
        spec = protocol_by_name(protocol)
        misplaced = sorted(set(local) & set(spec.consent_params))
        if misplaced:
            raise ConsentError(
                f"{self.party} setting up: found {', '.join(misplaced)} in [protocol.local], wanted it in [consent], "
                "which limits all that a partner is told"
            )
        limits = {name: getattr(self.section, name) for name in spec.consent_params}
        return {**local, **{name: value for name, value in limits.items() if value is not None}}

    def limits(self, protocol: str, params: Mapping[str, Any]) -> dict[str, float]:
        """Return the limits on what a run by a protocol is told that this party's consent sets, by name.

        `params`: those that are sent. A limit that is not set, or that the protocol does not have, is left out.
        """
        spec = protocol_by_name(protocol)
        if not spec.consent_params:
            return {}
        own = make_protocol_params(spec, {**params, **self.local_params(protocol, {})})
        limits = {name: getattr(own, name) for name in spec.consent_params}
        return {name: float(value) for name, value in limits.items() if value is not None}

    def prediction(self, hidden: bool) -> None:
        """Raise ConsentError for an open prediction, where only hidden ones are agreed to."""
        if self.section.prediction == "hidden" and not hidden:
            raise ConsentError(
                f"{self.party} does not agree to an open prediction, which shows it which rows reach its splits, "
                "wanted a hidden one (prediction); predict with --hidden, or write hidden = true into [predict]"
            )

    def alignment(self, claimed: int, own: int, training: bool) -> None:
        """Raise ConsentError unless a peer that brings `claimed` ids may compare them with the `own` ones.

        It is called before anything is allocated for them. In `training` fewer than min_common_rows cannot do.
        """
        least = max(self.section.min_claimed_ids, self.section.min_common_rows if training else 1)
        asked, most = f"an alignment of {claimed:,} ids", self.max_claimed(own)
        if claimed < least:
            why = "min_claimed_ids" if least == self.section.min_claimed_ids else "min_common_rows"
            raise self._refusal(asked, f"at least {least:,} ({why})")
        if claimed > most:
            raise self._refusal(asked, f"at most {most:,} (max_claimed_ids; it has {own:,} ids itself)")

    def max_claimed(self, own: int) -> int:
        """Return the most ids that a peer may bring to an alignment with `own` ones, or ask for in one lookup."""
        if self.section.max_claimed_ids is not None:
            return self.section.max_claimed_ids
        return max(LEAST_MAX_CLAIMED, CLAIMED_PER_OWN * own)

    def lookups(self) -> None:
        """Raise ConsentError unless ids may be looked up at all."""
        if not self.section.lookup:
            raise ConsentError(
                f"{self.party} does not agree to looking up ids, wanted lookup = true in its [consent]: it would tell "
                f"for any id whether it has it; ask {self.party} for that, or predict a file without --lookup"
            )

    def lookup(self, ids: int, own: int) -> None:
        """Raise ConsentError unless a question about so many ids may be answered."""
        self.lookups()
        asked, least, most = f"looking up {ids:,} ids at once", self.section.min_lookup_ids, self.max_claimed(own)
        if ids < least:
            raise self._refusal(asked, f"at least {least:,} (min_lookup_ids)")
        if ids > most:
            raise self._refusal(asked, f"at most {most:,} (max_claimed_ids)")

    def common_rows(self, count: int) -> None:
        """Raise ConsentError if fewer rows are common than this party agrees to work on."""
        self._at_least(f"{count} rows in common", count, self.section.min_common_rows)

    def enough_common(self, count: int) -> None:
        """Raise ConsentError before the peer knows how many rows are common, without telling it."""
        least = self.section.min_common_rows
        if count < least and least > 1:
            refusal = self._refusal("fewer rows in common than it works on", f"at least {least} (min_common_rows)")
            raise refusal from ConsentError(f"{count} rows are common")

    def features(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return those of the columns in use that are offered. Raises ConsentError when none is left."""
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
            allowed = tuple(own for own in shipped_protocols() if protocol_by_name(own).security == "semi-honest")
        if name not in allowed:
            raise self._refusal(f"the protocol {name!r}", f"one of {_listed(allowed)}")
        try:
            spec = protocol_by_name(name)
        except UnknownNameError:
            raise self._refusal(f"the protocol {name!r}", "one that its version of vfxgb has") from None
        if spec.security == "broken" and not self.section.insecure:
            raise self._refusal(f"the protocol {name!r}, which is broken", "insecure = true in its consent for that")
        bits = smallest_key(make_protocol_params(spec, params))
        if bits is not None:
            self._at_least(f"keys of {bits} bits", bits, self.section.min_key_bits)

    def _at_most(self, what: str, count: int, limit: int | None) -> None:
        if limit is not None and count > limit:
            raise self._refusal(what, f"at most {limit}")

    def _at_least(self, what: str, count: int, limit: int) -> None:
        if count < limit:
            raise self._refusal(what, f"at least {limit}")

    def _refusal(self, what: str, wanted: str) -> ConsentError:
        return ConsentError(f"{self.party} does not agree to {what}, wanted {wanted}; ask {self.party}")


@dataclass(frozen=True)
class QueryCount:
    """Counts rows predicted per model, over all requests and restarts, before they are answered."""

    party: str
    folder: PartyFolder
    limit: int | None

    def used(self, model: str) -> int:
        """Return how many rows were predicted so far with the model of that run."""
        return self._read().get(model, 0)

    def allow(self, model: str, rows: int) -> None:
        """Raise ConsentError if so many more rows would pass the limit; nothing is counted."""
        used = self.used(model)
        if self.limit is not None and used + rows > self.limit:
            raise ConsentError(
                f"{self.party} does not agree to {rows} more predicted rows of this model, wanted at most "
                f"{max(self.limit - used, 0)}: {used} of {self.limit} are used; ask {self.party}"
            )

    def take(self, model: str, rows: int) -> None:
        """Count rows that are about to be answered. Raises ConsentError beyond the limit, OSError."""
        self.allow(model, rows)
        counts = self._read()
        counts[model] = counts.get(model, 0) + rows
        write_atomically(self.folder.queries_file, msgspec.json.encode(counts) + b"\n")

    def _read(self) -> dict[str, int]:
        try:
            return msgspec.json.decode(self.folder.queries_file.read_bytes(), type=dict[str, int])
        except FileNotFoundError:
            return {}
        except msgspec.DecodeError as error:
            # Starting again at 0 would lift the limit.
            raise ConsentError(
                f"{self.party} cannot read its count of predicted rows and refuses to predict ({error})"
            ) from None


def passive_epsilon(protocol: str, params: Mapping[str, Any], n_features: int) -> float:
    """Return the epsilon of what a run by `protocol` makes a passive party release about one of its rows."""
    spec = protocol_by_name(protocol)
    return spec.passive_epsilon(make_protocol_params(spec, params), n_features)


def smallest_key(params: Any) -> int | None:
    """Find the smallest size of a key or group in a protocol's parameters and what they contain; None without any."""
    sizes: list[int] = []
    for name in getattr(params, "__struct_fields__", ()):
        value = getattr(params, name)
        size = value if name in KEY_SIZES else smallest_key(value)
        if isinstance(size, int):
            sizes.append(size)
    return min(sizes, default=None)


def _listed(names: tuple[str, ...]) -> str:
    return ", ".join(repr(name) for name in names) or "none at all"

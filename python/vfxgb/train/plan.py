"""What is to be trained, and what the party around a run wants to have of it: a plan and a bundle of hooks.

Both are made once, by whoever starts a run, and go unchanged through every layer below: simulate.py or a party's
process, sides.py, and the active party's or passive party's loop.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Generic, TypeAlias, TypeVar, cast

from vfxgb.contract import EngineOptions, ProtocolSpec, TranscriptSink
from vfxgb.errors import ParameterError, ProtocolParameterError, VfxgbError
from vfxgb.model.shares import ActiveShare, PassiveShare
from vfxgb.params import SplitRule, TrainParams
from vfxgb.protocols import make_protocol_params, protocol_by_name, require_consent, shipped_protocols
from vfxgb.runtime.ledger import Ledger
from vfxgb.runtime.secrets import SecretBox
from vfxgb.runtime.timings import Timings
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.train.checkpoint import ActiveState, PassiveState

State = TypeVar("State")
Save = TypeVar("Save")


@dataclass(frozen=True)
class RunPlan:
    """One run as the active party plans it. A passive party is told its part of the plan by the first message.

    `party` is the active party. `parties` names all of them, in the order that global feature ids follow. `run_id` is
    hexadecimal and the same at every party. `params` are the parameters of the trees, with the protocol's own
    `max_bin` where the user gave none; `default_bins` says so. `spec` is the protocol, and `protocol_params` are its
    parameters in the protocol's own class, with every default filled in.
    """

    party: str
    parties: tuple[str, ...]
    run_id: str
    params: TrainParams
    spec: ProtocolSpec
    protocol_params: Any
    default_bins: bool = False

    @classmethod
    def resolve(
        cls,
        party: str,
        parties: Sequence[str],
        run_id: str,
        params: TrainParams,
        protocol: str,
        protocol_params: Mapping[str, Any] | None = None,
    ) -> "RunPlan":
        """The plan for a protocol that is given by its name, with parameters as a user writes them.

        Raises UnknownNameError, RegistrationError, ParameterError for a rounding or a rule of splits that the protocol
        cannot have, and ProtocolParameterError, also for a broken protocol that nobody agreed to and for what hidden
        nodes do not allow.
        """
        spec, own_params = resolve_protocol(protocol, protocol_params)
        params = _with_rule(spec, params)
        for error in refusals(spec, params):
            raise error
        default_bins = params.max_bin is None
        if default_bins:
            params = replace(params, max_bin=spec.default_bins)
        return cls(party, tuple(parties), run_id, params, spec, own_params, default_bins)

    def for_rows(self, n_train: int) -> "RunPlan":
        """The plan for so many training rows: with the protocol's score_bits where it needs some and none were given.

        Raises CapacityError for more rows than it can take.
        """
        if self.spec.score_bits is None or self.params.score_bits is not None:
            return self
        bits = self.spec.score_bits(self.protocol_params, n_train)
        return replace(self, params=replace(self.params, score_bits=bits))

    @property
    def options(self) -> EngineOptions:
        """What the protocol asks of the training under these parameters."""
        options = self.spec.options(self.protocol_params)
        # A passive party that does not know which nodes are siblings is asked about all of them.
        return options if self.spec.shows_nodes else replace(options, subtract=False)


def resolve_protocol(name: str, given: Mapping[str, Any] | None) -> tuple[ProtocolSpec, Any]:
    """The protocol of that name as it is under the parameters given, and these in its own class.

    Raises UnknownNameError, RegistrationError, and ProtocolParameterError, also for a broken protocol that nobody
    agreed to.
    """
    spec = protocol_by_name(name)
    params = make_protocol_params(spec, given)
    require_consent(spec, params)
    return spec.under(params), params


def refusals(spec: ProtocolSpec, params: TrainParams) -> Iterator[VfxgbError]:
    """Everything of these parameters of training that the protocol cannot have, each with what to do instead."""
    params = _with_rule(spec, params)
    yield from _hidden_nodes(spec, params.min_bucket_rows, params.told_sample)
    yield from _split_rule(spec, params.rule, params.score_bits)
    given = {name: getattr(params, name) for name in spec.refused}
    if "max_delta_step" in given:
        given["max_delta_step"] = params.delta_step
    for name, value in given.items():
        if value:
            yield ParameterError(
                f"planning a run: {name}={value!r} with protocol {spec.name!r}, wanted none: {spec.refused[name]}"
            )
    if params.rounding != "nearest" and not spec.exact:
        yield ParameterError(
            f"planning a run: rounding={params.rounding!r} with protocol {spec.name!r}, wanted 'nearest': "
            "leaf weights from the true gradients would undo what the protocol replaces; leave rounding out"
        )


def check_hidden_nodes(spec: ProtocolSpec, min_bucket_rows: int, told_sample: bool) -> None:
    """Raise ProtocolParameterError for what passive parties cannot do, or must not know, where nodes are hidden.

    All else works as with nodes that are shown: eval sets, samples of rows and columns, missing values, constraints,
    several outputs and passive parties, rows in shards, and runs that are resumed.
    """
    for error in _hidden_nodes(spec, min_bucket_rows, told_sample):
        raise error


def check_split_rule(spec: ProtocolSpec, split_rule: str, score_bits: int | None) -> None:
    """Raise ParameterError for a rule of splits by which the protocol cannot choose."""
    for error in _split_rule(spec, split_rule, score_bits):
        raise error


def _with_rule(spec: ProtocolSpec, params: TrainParams) -> TrainParams:
    """Return the parameters with the protocol's own rule of splits where the user gave none."""
    if params.split_rule is not None:
        return params
    return replace(params, split_rule=cast("SplitRule", spec.split_rules[0]))


def _hidden_nodes(spec: ProtocolSpec, min_bucket_rows: int, told_sample: bool) -> Iterator[ProtocolParameterError]:
    if spec.shows_nodes:
        return
    what = f"protocol {spec.name!r} hides nodes from passive parties"
    if min_bucket_rows > 1:
        yield ProtocolParameterError(
            f"{what}, which cannot count the rows of a node then: found min_bucket_rows={min_bucket_rows}, wanted 1; "
            "leave it out, or take a protocol that shows nodes"
        )
    if told_sample:
        yield ProtocolParameterError(
            f"{what}, which must not know the rows of a round then: found told_sample=True; leave it out, or take a "
            "protocol that shows nodes"
        )


def _split_rule(spec: ProtocolSpec, split_rule: str, score_bits: int | None) -> Iterator[ParameterError]:
    if split_rule not in spec.split_rules:
        able = [name for name in shipped_protocols() if split_rule in protocol_by_name(name).split_rules]
        others = f", or take one of the protocols {', '.join(able)}" if able else ""
        yield ParameterError(
            f"planning a run: split_rule={split_rule!r} with protocol {spec.name!r}, wanted one of "
            f"{', '.join(map(repr, spec.split_rules))}: the active party opens no exact sums of candidates that it "
            f"could score otherwise; leave split_rule out{others}"
        )
    if score_bits is not None and not spec.integer_scores:
        yield ParameterError(
            f"planning a run: score_bits={score_bits} with protocol {spec.name!r}, wanted None: its sums are those of "
            "gradients, which are not rounded for each node; leave score_bits out, or take protocol 'plain' with "
            "hide_nodes=True"
        )


@dataclass(frozen=True)
class RunHooks(Generic[State, Save]):
    """What one party's run reports to its surroundings and takes from them. Without any, a run leaves its result only.

    `keep(state)` must have stored the state when it returns (checkpoint.save_state). At the active party it is called
    before the first round, after every round, and before a release under differential privacy is sent. At a passive
    party it is called before anything of a round is answered, after every round, when a round breaks off, and before
    such a release is sent. `resumed` is the state that `keep` got last, or None for a new run. A passive party's state
    must last as long as the active party might resume and seal again.

    `save` stores a share. At the active party `save(share, folder)` writes the share as it stands when the callback
    Checkpoint asks for it; that callback is refused if there is no `save`. At a passive party `save(share)` stores the
    sealed share, before the active party is told that it is stored.

    `ledger` also observes the channels. It gets what the party knows beyond single messages and, in a resumed run, the
    totals until then. `timings` are filled while the run goes on, so that others can look at them meanwhile. `note`
    gets what an audit needs of a run that is recorded.

    Only the active party uses the last two. `callbacks` are called around every round; params.early_stopping_rounds
    adds one. `secrets` keeps private keys; without it a resumed run makes new ones.
    """

    keep: Callable[[State], None] | None = None
    resumed: State | None = None
    save: Save | None = None
    ledger: Ledger = field(default_factory=Ledger)
    timings: Timings = field(default_factory=Timings)
    note: TranscriptSink | None = None
    callbacks: Sequence[TrainingCallback] = ()
    secrets: SecretBox | None = None


ActiveHooks: TypeAlias = RunHooks[ActiveState, Callable[[ActiveShare, Path], None]]
PassiveHooks: TypeAlias = RunHooks[PassiveState, Callable[[PassiveShare], None]]

"""The first words of a session between processes: who asks for what, and whether it is granted.

    dialler                                  listener
    Hello                  ------------->    consent is checked
                           <-------------    Welcome, or Abort with the reason
    train:    alignment, RowsKept (both left out when a run is resumed), Setup ... Stored (vfxgb.align, vfxgb.train)
    predict:  alignment, then prediction of the common rows; or lookups, each followed by prediction of its rows; before
              either, if predictions are hidden, the set-up of hidden routing (vfxgb.routing.setup)
    check:    nothing more

The session's own number is in every frame; the run's travels in Hello, and checkpoints and models are filed under it.
"""

from typing import Annotated, Any, ClassVar, Literal

import msgspec

from vfxgb.transport.messages import Message, Reveals

# Of the words in this file; a peer that speaks another is refused by name.
TALK_VERSION = 4
MAX_TEXT = 500
Text = Annotated[str, msgspec.Meta(max_length=MAX_TEXT)]
RunId = Annotated[str, msgspec.Meta(pattern=r"^([0-9a-f]{32})?\Z")]

Kind = Literal["train", "predict", "check"]


class TrainRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a training run will ask of a passive party, so that it can refuse before anything is computed.

    With `resume` the rows are agreed on already, and the run goes on from the checkpoints. `n_trees` is rounds times
    outputs. `told_sample` and `split_rule` are those of Setup. `n_ids` counts the ids of the party that asks, in all
    its tables; 0 tells nothing.
    """

    protocol: Text
    protocol_params: dict[str, Any]
    n_trees: int
    max_depth: int
    min_bucket_rows: int
    parties: tuple[Text, ...]
    resume: bool = False
    told_sample: bool = False
    n_ids: int = 0
    split_rule: str = "gain"


class PredictRequest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How rows are matched, "psi" once or "lookup" again and again, and how many ids there are (0: not yet known).

    `hidden`: the passive party is not to learn which of its splits a row reaches (vfxgb.routing).
    """

    n_rows: int = 0
    matching: Literal["psi", "lookup"] = "psi"
    hidden: bool = False


class Hello(Message, frozen=True, forbid_unknown_fields=True):
    """Says what the dialler wants. `run` is the id of the run, or of the model in prediction. `clock` is Unix time."""

    TAG: ClassVar[str] = "hello"
    REVEALS: ClassVar[Reveals] = Reveals("what the sender asks for: protocol, trees, depth, purpose, rows to predict")

    talk: int
    kind: Kind
    version: Text
    clock: float
    run: RunId = ""
    purpose: Text = ""
    train: TrainRequest | None = None
    predict: PredictRequest | None = None


class Welcome(Message, frozen=True, forbid_unknown_fields=True):
    """The request is granted.

    This party has finished `rounds` rounds of the run, -1 if it does not know the run. The table that it will use has
    `n_rows` rows and `n_features` features; the run shows both anyway. `steps` is a digest of how its ids are
    normalised (align.normalise.steps_digest), so that another list at the other party shows before ids are compared.
    `limits`: how much of the run it will tell at most, by the names of its consent; what is beyond is withheld.
    """

    TAG: ClassVar[str] = "welcome"
    REVEALS: ClassVar[Reveals] = Reveals(
        "how many rows and features the sender has, what limits its consent sets, and which round its checkpoint has "
        "reached"
    )

    talk: int
    version: Text
    clock: float
    rounds: int = -1
    n_rows: int = 0
    n_features: int = 0
    steps: bytes = b""
    limits: dict[Text, float] = msgspec.field(default_factory=dict)


class RowsKept(Message, frozen=True, forbid_unknown_fields=True):
    """A passive party tells the active one that the agreed rows are on disk.

    The active party keeps its own only then, so that whoever resumes finds them at all parties.
    """

    TAG: ClassVar[str] = "rows-kept"


PARTY_MESSAGES: tuple[type[Message], ...] = (Hello, Welcome, RowsKept)

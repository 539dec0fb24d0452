"""How the server and a user meet: the messages before and after those of training.

user                            server
Arrives           ->
                  <-            Invites: the run, what is to be trained, how sums are protected; or TurnsAway
Accepts, Declines ->
                  <-            requests of training, one at a time; the user answers each, or Declines
                  <-            Finishes: the model
Kept              ->
"""

from typing import Any

from vfxgb.horizontal.messages import PUBLISHED
from vfxgb.horizontal.privacy import PrivacySettings
from vfxgb.horizontal.quantiles import KEY_BITS, RangeCells
from vfxgb.secagg.base import AggregatorSpec
from vfxgb.secagg.guard import NOT_COMPARED
from vfxgb.transport.messages import BULK_BYTES, TABLE_BYTES, Bulk, Catalogue, Message, Reveals


class Arrives(Message, frozen=True, forbid_unknown_fields=True):
    """User to server, first. `run`: the run it has taken part in, if it lost its connection; else empty.

    `anew`: whether its process was started again since, and has no keys and no trees.
    """

    TAG = "user-arrives"
    REVEALS = Reveals("that the user is there, and its version")

    version: str
    run: bytes
    anew: bool = False


class Invites(Message, frozen=True, forbid_unknown_fields=True):
    """Server to user. `run`: 16 bytes. `params`: TrainParams, as JSON holds them. `directory`: digest of the users.

    `weighted`: whether rows may have weights. `hide_among`, `compare`: which sets of users the server will not put side
    by side (vfxgb.secagg.guard); what is left out counts as the weakest. `least`: fewest users in a sum.
    `quantile_bits`: how many bits of a value are told, of 32; `ranges`: cells of columns whose range is public.
    `metrics`: what is measured on users' rows; `holdout`: on which share of them, kept out of training. `privacy`: how
    much noise users add to their vectors; None for none.
    """

    TAG = "user-invited"
    MAX_BYTES = TABLE_BYTES
    REVEALS = Reveals("the settings of the run and the names of columns")

    run: bytes
    number: int
    purpose: str
    aggregator: str
    aggregator_params: dict[str, Any]
    params: dict[str, Any]
    columns: list[str]
    weighted: bool
    directory: bytes
    hide_among: int = NOT_COMPARED
    compare: str = "tree"
    least: int = 2
    quantile_bits: int = KEY_BITS
    ranges: tuple[RangeCells, ...] = ()
    metrics: tuple[str, ...] = ()
    holdout: float = 0.0
    privacy: PrivacySettings | None = None


class TurnsAway(Message, frozen=True, forbid_unknown_fields=True):
    """Server to user: it cannot take part, and why."""

    TAG = "user-turned-away"
    REVEALS = Reveals("why the user cannot take part")

    reason: str


class Accepts(Message, frozen=True, forbid_unknown_fields=True):
    """User to server: it takes part."""

    TAG = "user-accepts"
    REVEALS = Reveals("that the user takes part")


class Declines(Message, frozen=True, forbid_unknown_fields=True):
    """User to server, instead of any answer. `reason`: the kind of error; of a refused invitation its text."""

    TAG = "user-declines"
    REVEALS = Reveals("that the user declined, and why")

    reason: str


class Finishes(Message, frozen=True, forbid_unknown_fields=True):
    """Server to user: the run is over. `model`: the file of the model, without gains and covers."""

    TAG = "run-finished"
    MAX_BYTES = BULK_BYTES
    REVEALS = Reveals("which rounds the model uses; its trees were published before")

    model: Bulk


class Kept(Message, frozen=True, forbid_unknown_fields=True):
    """User to server: the model has arrived."""

    TAG = "model-kept"
    REVEALS = Reveals("that the user is there")


MEETING = (Arrives, Invites, TurnsAway, Accepts, Declines, Finishes, Kept)


def catalogue_of(spec: AggregatorSpec) -> Catalogue:
    """All messages between server and user."""
    return Catalogue((*MEETING, *PUBLISHED, *spec.messages))

"""What a protocol is: the two roles it plays, and what it says about itself.

A protocol decides how the passive parties' candidate splits get scored without more being seen than its README says.
All else (binning, growth, row partition, model) is common code that never learns which protocol ran. One round of
boosting grows K trees, one per output, level by level:

    active (grower)                                     passive (train/passive.py)
    BeginRound                  ------------------->    role.begin_tree(trees)
    role.begin_tree(gradients)  <- protocol messages ->   "
    per level:
      Level                     ------------------->    role.open_level(level)
      role.open_level(level)    <- protocol messages ->   "
      (scores its own features meanwhile)
      role.propose(level)       <- protocol messages ->   "
      Choose (winning tokens)   ------------------->    role.resolve(tree, nodes, start, tokens)
                                <-------------------    SplitRows (who goes left)
    role.end_tree()                                     role.end_tree()

A protocol may have a set-up (`ProtocolSpec.prepares`). Where the active party grows the first tree alone, the roles can
do it at that time:

    Prepare                     ------------------->    role.prepare()
    with role.preparing():      <- protocol messages ->   "
      (grows the first tree)

A protocol may hide nodes from passive parties (`ProtocolSpec.shows_nodes`). These then know only how many nodes are
open, as slots in a secret order, and the roles bring left bits to the active party:

    active (grower)                                      passive (train/passive.py)
    BeginHiddenRound             ------------------->    role.begin_tree(trees)
    role.begin_tree(gradients)   <- protocol messages ->   "
    per level:
      OpenSlots                  ------------------->    role.open_level(level)
      role.open_level(level)     <- protocol messages ->   "
      role.propose(level, own)   <- protocol messages ->   "
      WonSlots                   ------------------->    role.tell_left(round, depth, won)
      role.learn_left(party, ..) <- protocol messages ->   "
      PlaceSplits                ------------------->    (files its splits)
    role.end_tree()                                      role.end_tree()

Within a hook both roles talk as they like over the channel; what one sends the other must read in the same hook.
A *token* is whatever the protocol's passive role needs to find a split again, an integer of at least 0; the active
party treats it as opaque. Of several tokens with the same best gain all are sent back, and the owner takes the first in
XGBoost's order, so that no order has to be disclosed.
"""

from vfxgb.contract.contexts import (
    ActiveContext,
    Disclosed,
    PassiveContext,
    ReleaseContext,
    ReleaseOnce,
    RunFacts,
    TranscriptSink,
    draw_now,
    equations_of,
)
from vfxgb.contract.nodes import (
    ActiveLevel,
    ChosenSums,
    LeftRows,
    LevelNodes,
    OpenNodes,
    PassiveLevel,
    PassiveNodes,
    PassiveTree,
    Proposals,
    Resolved,
    SlotLevel,
    SlotNodes,
    SlotTree,
    SlotWins,
    WonNodes,
)
from vfxgb.contract.roles import (
    ActiveRole,
    ActiveSteps,
    HiddenActiveRole,
    HiddenPassiveRole,
    PassiveRole,
    PreparingActive,
    PreparingPassive,
    Release,
)
from vfxgb.contract.spec import EngineOptions, Learned, PrecisionBits, ProtocolSpec, Subtract, no_options
from vfxgb.contract.wire_cost import Saving, TrainingShape, WireCost, shared_cost
from vfxgb.rows.gradients import Gradients

__all__ = [
    "ActiveContext",
    "ActiveLevel",
    "ActiveRole",
    "ActiveSteps",
    "ChosenSums",
    "Disclosed",
    "EngineOptions",
    "Gradients",
    "HiddenActiveRole",
    "HiddenPassiveRole",
    "Learned",
    "LeftRows",
    "LevelNodes",
    "OpenNodes",
    "PassiveContext",
    "PassiveLevel",
    "PassiveNodes",
    "PassiveRole",
    "PassiveTree",
    "PrecisionBits",
    "PreparingActive",
    "PreparingPassive",
    "Proposals",
    "ProtocolSpec",
    "Release",
    "ReleaseContext",
    "ReleaseOnce",
    "Resolved",
    "RunFacts",
    "Saving",
    "SlotLevel",
    "SlotNodes",
    "SlotTree",
    "SlotWins",
    "Subtract",
    "TrainingShape",
    "TranscriptSink",
    "WireCost",
    "WonNodes",
    "draw_now",
    "equations_of",
    "no_options",
    "shared_cost",
]

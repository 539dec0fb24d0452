"""`vfxgb train`: the active party dials the passive ones, aligns rows, trains, and comes back when a party was lost.

A run is known by its id. What it needs to go on lies in its folder after alignment and after every round: the rows, the
checkpoint. So a run that ended early, whatever ended it, is taken up again with `resume`; and while this process lives
it does so by itself, for as long as [resume] says.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
import numpy as np

from vfxgb._native import random_bytes
from vfxgb.align import AlignParams, align_active
from vfxgb.data.table import Table
from vfxgb.errors import CheckpointError, ConfigError, ConsentError, PeerError, VfxgbError
from vfxgb.model.file import save_share
from vfxgb.model.seal import check_own
from vfxgb.objective import make_objective
from vfxgb.params import TrainParams
from vfxgb.party.config import PartyConfig, section
from vfxgb.party.dialling import Patience, open_sessions
from vfxgb.party.folder import PartyFolder, RunFolder, RunRecord, now, plain, versions
from vfxgb.party.logs import Log
from vfxgb.party.messages import RowsKept, TrainRequest
from vfxgb.party.rows import AgreedRows, load_rows, save_rows
from vfxgb.party.session import Network, Session, greet, hello, need_role, training_talk
from vfxgb.party.tables import PartyTable, agreed, read_table
from vfxgb.protocols import make_protocol_params, protocol_by_name, require_consent
from vfxgb.threads import resolve_threads
from vfxgb.train.active import ActiveInput, plain_params
from vfxgb.train.callbacks import TrainingCallback
from vfxgb.train.checkpoint import ActiveState, load_state, save_state
from vfxgb.train.ledger import Ledger
from vfxgb.train.secrets import SecretBox
from vfxgb.train.sides import LeadResult, lead

"""`vfxgb check`: everything that can be found out before a run, one finding per line.

The data, the certificates, the peers (each is asked whether it would agree, and how many rows and features it has), the
versions, the clocks; and an estimate of time, bytes and memory. Nothing is computed on the data and no id leaves.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timezone
from typing import Literal

from vfxgb import __version__
from vfxgb.align import AlignParams
from vfxgb.errors import ConsentError, VfxgbError
from vfxgb.params import TrainParams
from vfxgb.party.config import PartyConfig, section
from vfxgb.party.consent import Consent
from vfxgb.party.estimate import FACTOR, Shape, estimate
from vfxgb.party.folder import make_private, now
from vfxgb.party.messages import TrainRequest, Welcome
from vfxgb.party.serve import ACCEPT_SECONDS
from vfxgb.party.session import CLOCK_SECONDS, Network, Session, greet, hello
from vfxgb.party.tables import PartyTable, read_table
from vfxgb.party.train import read_params, training_request
from vfxgb.protocols import make_protocol_params, protocol_by_name, require_consent
from vfxgb.train.ledger import Ledger
from vfxgb.transport.link import LinkTimeout
from vfxgb.transport.network import Listener, dial
from vfxgb.transport.network.certificates import check_identity, check_peer

Verdict = Literal["good", "warning", "bad"]
SOON_DAYS = 30

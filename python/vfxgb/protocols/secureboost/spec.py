"""What `secureboost` is."""

from functools import partial

from vfxgb.contract import ProtocolSpec
from vfxgb.protocols.he.active import make_active
from vfxgb.protocols.he.attack_texts import ATTACKS, MESSAGES, QUICK
from vfxgb.protocols.he.layout import HeLayout, exact_code
from vfxgb.protocols.he.params import he_options
from vfxgb.protocols.he.passive import HePassive
from vfxgb.protocols.secureboost.params import SecureBoostParams

LAYOUT = HeLayout(together=False, code=exact_code)

SPEC = ProtocolSpec(
    name="secureboost",
    summary="gradients are encrypted, g and h separately: two ciphertexts per row and output",
    params=SecureBoostParams,
    active=partial(make_active, layout=LAYOUT),
    passive=partial(HePassive, layout=LAYOUT),
    messages=MESSAGES,
    exact=True,
    security="semi-honest",
    attacks=ATTACKS,
    quick_params=QUICK,
    options=he_options,
    sharded=True,
    row_bytes=LAYOUT.row_bytes,
)

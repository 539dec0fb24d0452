"""What `batch_he` is."""

from functools import partial

from vfxgb.contract import ProtocolSpec
from vfxgb.protocols.batch_he.params import BatchHeParams, batch_code
from vfxgb.protocols.he.active import make_active
from vfxgb.protocols.he.attack_texts import ATTACKS, MESSAGES, QUICK
from vfxgb.protocols.he.layout import HeLayout
from vfxgb.protocols.he.params import he_options
from vfxgb.protocols.he.passive import HePassive

LAYOUT = HeLayout(together=True, code=batch_code, most_pairs=lambda params: params.most_pairs)

SPEC = ProtocolSpec(
    name="batch_he",
    summary="gradients are encrypted, all pairs of a row in as few ciphertexts as they fit into; exact with "
    "encoding='exact', the default",
    params=BatchHeParams,
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

"""What `batch_he` is."""

from vfxgb.protocols.batch_he.params import BatchHeParams, batch_code
from vfxgb.protocols.he.encrypted import encrypted_spec
from vfxgb.protocols.he.layout import HeLayout

LAYOUT = HeLayout(together=True, code=batch_code, most_pairs=lambda params: params.most_pairs)

SPEC = encrypted_spec(
    "batch_he",
    "gradients are encrypted, all pairs of a row in as few ciphertexts as they fit into; exact with encoding='exact', "
    "the default",
    BatchHeParams,
    LAYOUT,
)

"""What `secureboost` is."""

from vfxgb.protocols.he.encrypted import encrypted_spec
from vfxgb.protocols.he.layout import HeLayout, exact_code
from vfxgb.protocols.secureboost.params import SecureBoostParams

SPEC = encrypted_spec(
    "secureboost",
    "gradients are encrypted, g and h separately: two ciphertexts per row and output",
    SecureBoostParams,
    HeLayout(together=False, code=exact_code),
)

"""Parameters of `plain`: none."""

import msgspec


class PlainParams(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing to set."""

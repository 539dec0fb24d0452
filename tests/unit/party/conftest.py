"""A configuration that can be changed key by key."""

from pathlib import Path

import pytest

from processes import to_toml

ACTIVE = {
    "party": "bank",
    "role": "active",
    "folder": "files",
    "tls": {"certificate": "bank.pem", "key": "bank.key"},
    "peers": {"shop": {"certificate": "shop.pem", "address": "localhost:1"}},
    "data": {"train": "bank.csv", "label": "y"},
}
PASSIVE = {
    "party": "shop",
    "role": "passive",
    "folder": "files",
    "listen": "127.0.0.1:0",
    "tls": {"certificate": "shop.pem", "key": "shop.key"},
    "peers": {"bank": {"certificate": "bank.pem"}},
    "data": {"train": "shop.csv"},
}


@pytest.fixture
def write(tmp_path: Path):
    """Write a configuration: that of a role, with changes; None removes a key."""

    def make(side: str = "active", **changes: object) -> Path:
        values = dict(ACTIVE if side == "active" else PASSIVE)
        for key, value in changes.items():
            values.pop(key, None)
            if value is not None:
                values[key] = value
        path = tmp_path / "party.toml"
        path.write_text(to_toml(values))
        return path

    return make

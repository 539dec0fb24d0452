"""Roles "server" and "user": `vfxgb train server.toml` and `vfxgb serve user.toml`.

The server listens, users dial it; each is a process of its own with its own configuration. [users] says who they are
and how their sums are protected (users_config.py). A run leaves a folder at every side, with the model, as between
other parties.
"""

from vfxgb.party.config import PartyConfig
from vfxgb.party.folder import PartyFolder
from vfxgb.party.logs import Log
from vfxgb.party.user import UserParty
from vfxgb.party.users_server import UsersServer


def run_server(config: PartyConfig) -> int:
    """Train with the users of the configuration; returns the exit code 0. Raises errors of vfxgb.errors."""
    UsersServer(config, Log(PartyFolder(config.folder).make().log_file)).run()
    return 0


def run_user(config: PartyConfig) -> int:
    """Take part in the server's next run; returns the exit code 0. Raises errors of vfxgb.errors."""
    UserParty(config, Log(PartyFolder(config.folder).make().log_file)).run()
    return 0

"""Reading a configuration again while a passive party serves: what SIGHUP to `vfxgb serve` does.

A new configuration is read and checked as a whole before anything of it is used. What is wrong with it is an error, and
the party serves on under the old one. serve.py and the listener then use the new one for what comes next: certificates
for new connections, everything else for new requests.
"""

from dataclasses import dataclass

from vfxgb.align import AlignParams
from vfxgb.errors import ConfigError
from vfxgb.party.config import PartyConfig, load_config, section
from vfxgb.party.consent import Consent, QueryCount
from vfxgb.party.folder import PartyFolder
from vfxgb.party.session import Network, need_role
from vfxgb.party.tables import read_table

# Keys of the configuration that need a new process: who this party is, where its files lie, and what its open port and
# the sessions on it were made with.
FIXED = ("party", "role", "folder", "listen", "max_sessions", "network")


@dataclass(frozen=True)
class Settings:
    """Holds a configuration and what serving makes of it."""

    config: PartyConfig
    network: Network
    align: AlignParams
    consent: Consent
    queries: QueryCount

    @classmethod
    def of(cls, config: PartyConfig) -> "Settings":
        """Read a configuration. Raises ConfigError for a section that cannot be used."""
        need_role(config, "serve", "passive")
        return cls(
            config,
            Network.of(config),
            section(AlignParams, config.align, "align", config.path),
            Consent(config.party, config.consent),
            QueryCount(config.party, PartyFolder(config.folder), config.consent.max_predicted_rows),
        )


def read_again(old: PartyConfig) -> Settings:
    """Read and check what the file of a configuration says now, with the environment of this process.

    Raises ConfigError for a file that is wrong or changes what a reload cannot change, and what reading a table raises
    if [data] names another one. Certificates are checked by those who use them.
    """
    settings = Settings.of(load_config(old.path))
    new = settings.config
    changed = [name for name in FIXED if getattr(new, name) != getattr(old, name)]
    if changed:
        raise ConfigError(
            f"{old.party} reading {str(old.path)!r} again: {', '.join(changed)} cannot be changed while it serves; "
            "stop it and start it again, or put the old value back"
        )
    settings.consent.check()
    if (new.data, new.engine) != (old.data, old.engine):
        read_table(new, new.data.train, "train", in_files=new.engine.in_shards)
    return settings

"""`vfxgb certs`: an authority and one certificate per party."""

import argparse
from pathlib import Path

from vfxgb.cli.parser import Commands, UsageError, positive_int

DEFAULT_DAYS = 825


def add(commands: Commands) -> None:
    """Add `certs` to the commands."""
    parser = commands.add_parser(
        "certs",
        help="make certificates and private keys of parties",
        description="Writes an authority (authority.pem, authority.key), unless the folder has one, and for each party "
        "NAME.pem and NAME.key. Private keys are readable by their owner only (0600). Give each party its own key and "
        "the certificates of the others; the certificates are what the parties pin, so hand them over by a way you "
        "trust. Keep authority.key away from every party, or delete it.",
    )
    parser.add_argument("parties", metavar="NAME", nargs="*", help="names of parties")
    parser.add_argument("--out", metavar="FOLDER", type=Path, default=Path("certs"), help="where to (%(default)s)")
    parser.add_argument("--days", type=positive_int, default=DEFAULT_DAYS, help="how long they are valid (%(default)s)")
    parser.add_argument(
        "--host",
        action="append",
        default=[],
        metavar="NAME=HOST",
        help="a DNS name or address to put into the certificate of a party; repeatable",
    )
    parser.add_argument(
        "--users",
        type=positive_int,
        default=None,
        metavar="N",
        help="also certificates and identity keys of so many users (user-0, user-1, ...), and their directory",
    )
    parser.add_argument("--aggregator", default="masks", metavar="NAME", help="how users' sums are protected (masks)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the files and say which."""
    from vfxgb.files import make_private
    from vfxgb.horizontal.directory import user_names, write_users
    from vfxgb.transport.network.certificates import Authority, describe, issue, make_authority

    folder: Path = arguments.out
    users = user_names(arguments.users or 0)
    if not arguments.parties and not users:
        raise UsageError("vfxgb certs: no party named; try: vfxgb certs bank shop --out certs")
    parties = [*arguments.parties, *users]
    hosts = _hosts(arguments.host, parties)
    make_private(folder)
    authority = Authority(folder / "authority.pem", folder / "authority.key")
    if not authority.certificate.exists():
        authority = make_authority(folder)
        print(f"authority  {authority.certificate}  {authority.key}")
    for party in parties:
        made = issue(authority, party, hosts[party], arguments.days, folder)
        said = describe(made.certificate)
        print(f"{party}  {made.certificate}  {made.key}  until {said.ends:%Y-%m-%d}  SHA-256 {said.fingerprint[:16]}…")
    if users:
        print(f"directory of users  {write_users(folder, users, arguments.aggregator)}  and NAME.identity for each")
    return 0


def _hosts(given: list[str], parties: list[str]) -> dict[str, tuple[str, ...]]:
    hosts: dict[str, tuple[str, ...]] = dict.fromkeys(parties, ())
    for entry in given:
        party, equals, host = entry.partition("=")
        if not equals or not host or party not in hosts:
            raise UsageError(f"vfxgb certs: --host {entry!r}, wanted NAME=HOST with one of {', '.join(parties)}")
        hosts[party] += (host,)
    return hosts

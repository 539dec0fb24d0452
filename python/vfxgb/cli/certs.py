"""`vfxgb certs`: an authority and one certificate per party; the keys of one user; what a certificate says."""

import argparse
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from vfxgb.cli.parser import Commands, UsageError, positive_int

if TYPE_CHECKING:
    from vfxgb.transport.network.certificates import Description

DEFAULT_DAYS = 825


def add(commands: Commands) -> None:
    """Add `certs` to the commands."""
    parser = commands.add_parser(
        "certs",
        help="make certificates and private keys of parties",
        description="Writes an authority (authority.pem, authority.key), unless the folder has one, and for each party "
        "NAME.pem and NAME.key. Private keys are readable by their owner only (0600). Give each party its own key and "
        "the certificates of the others; the certificates are what the parties pin, so hand them over by a way you "
        "trust. Keep authority.key away from every party, or delete it. With --user NAME: the keys of one user, made "
        "where the user is, and NAME.user, the public part for the server or coordinator (vfxgb users directory). "
        "With --show: what certificates and public parts say, with whole fingerprints to compare.",
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
    parser.add_argument("--user", metavar="NAME", default=None, help="the keys of this one user, and its public part")
    parser.add_argument(
        "--show",
        metavar="FILE",
        type=Path,
        nargs="+",
        default=None,
        help="print name, validity and fingerprint (SHA-256) of certificates (.pem), public parts (.user) or a "
        "directory of users (.json); nothing is made",
    )
    parser.add_argument("--aggregator", default="masks", metavar="NAME", help="how users' sums are protected (masks)")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Write the files and say which, or show files that are there."""
    others = bool(arguments.parties or arguments.host or arguments.users)
    if arguments.show is not None:
        if others or arguments.user is not None:
            raise UsageError("vfxgb certs: --show makes nothing; leave out names, --host, --user and --users")
        return _show(arguments.show)
    if arguments.user is not None:
        if others:
            raise UsageError(
                "vfxgb certs: --user makes the keys of one user; leave out other names, --host and --users"
            )
        return _make_user(arguments.user, arguments.out, arguments.days)
    return _issue_all(arguments)


def _issue_all(arguments: argparse.Namespace) -> int:
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
        print(f"{party}  {made.certificate}  {made.key}  until {said.ends:%Y-%m-%d}  SHA-256 {said.fingerprint}")
    if users:
        print(f"directory of users  {write_users(folder, users, arguments.aggregator)}  and NAME.identity for each")
    return 0


def _make_user(party: str, folder: Path, days: int) -> int:
    from vfxgb.horizontal.enrolment import make_user

    public = make_user(party, folder, days)
    print(f"{party}: {folder / party}.key and {folder / party}.identity are private and stay here")
    print(f"send {public} to whoever assembles the directory, and let them compare it with this:")
    return _show([public])


def _show(files: list[Path]) -> int:
    from vfxgb.horizontal.directory import read_users
    from vfxgb.horizontal.enrolment import ENDING, read_public_part
    from vfxgb.transport.network.certificates import describe

    for path in files:
        print(path)
        if path.suffix == ".json":
            directory = read_users(path)
            _lines({"users": len(directory.parties), "digest": directory.digest().hex()})
            _lines({party: key.hex() for party, key in zip(directory.parties, directory.identities, strict=True)})
        elif path.suffix == ENDING:
            part = read_public_part(path, dates=False)
            _lines({**_said(part.said), "identity key": part.identity.hex()})
        else:
            _lines(_said(describe(path)))
    return 0


def _said(said: "Description") -> dict[str, str]:
    from datetime import datetime, timezone

    days = (said.ends - datetime.now(timezone.utc)).days
    left = f"{days} days left" if days >= 0 else "expired"
    return {
        "party": said.party + (" (an authority)" if said.authority else ""),
        "issued by": said.issuer,
        "names": ", ".join(said.hosts),
        "valid": f"{said.begins:%Y-%m-%d %H:%M} to {said.ends:%Y-%m-%d %H:%M} UTC ({left})",
        "SHA-256": said.fingerprint,
    }


def _lines(values: Mapping[str, object]) -> None:
    for name, value in values.items():
        # Names in a certificate are another party's words, and a terminal obeys some characters.
        print(f"  {_printable(name):<14}{_printable(str(value))}")


def _printable(text: str) -> str:
    return "".join(character if character.isprintable() else "?" for character in text)


def _hosts(given: list[str], parties: list[str]) -> dict[str, tuple[str, ...]]:
    hosts: dict[str, tuple[str, ...]] = dict.fromkeys(parties, ())
    for entry in given:
        party, equals, host = entry.partition("=")
        if not equals or not host or party not in hosts:
            raise UsageError(f"vfxgb certs: --host {entry!r}, wanted NAME=HOST with one of {', '.join(parties)}")
        hosts[party] += (host,)
    return hosts

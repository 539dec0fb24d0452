"""`vfxgb merge`: all shares of a model into one XGBoost file, by the consent of every party.

    vfxgb merge --consent share.json --key bank.key --certificate bank.pem -o bank.consent.json
    vfxgb merge bank.json shop.json bank.consent.json shop.consent.json --certificate bank.pem --certificate shop.pem \
        -o model.json

The first writes a party's consent, the second merges. Shares and consents are told apart by what they say they are. A
model that was trained with users is in one piece at the server and at every user, and needs no consent:

    vfxgb merge share.json -o model.json
"""

import argparse
from pathlib import Path

import msgspec

from vfxgb.cli.parser import Commands
from vfxgb.errors import ConsentError, ShareMismatchError
from vfxgb.model.consent import (
    FORMAT,
    Consent,
    check_consents,
    common_name,
    read_certificate,
    read_consent,
    save_consent,
    sign_consent,
)
from vfxgb.model.file import load_share, load_shares
from vfxgb.model.pooled import PooledModel
from vfxgb.model.shares import ActiveShare
from vfxgb.model.xgboost_json import export_xgboost


def add(commands: Commands) -> None:
    """Add `merge` to the commands."""
    parser = commands.add_parser(
        "merge",
        help="all shares into one XGBoost model, by consent of every party",
        description="Merges the shares of all parties into XGBoost's JSON. THE FILE SHOWS EVERY PARTY'S FEATURES AND "
        "CUT POINTS, and whoever has it predicts alone: so each party must have signed a consent for this very model. "
        "With --consent a party writes its own. A model trained with users is whole at each of them: one share is "
        "enough, and no consent is needed.",
    )
    parser.add_argument("files", metavar="FILE", nargs="*", help="shares and consents of all parties")
    parser.add_argument("--consent", metavar="SHARE", default=None, help="write the consent of this share's party")
    parser.add_argument("--key", metavar="FILE", default=None, help="with --consent: the key that signs")
    parser.add_argument(
        "--certificate", metavar="FILE", action="append", default=[], help="of each party; with --consent the own one"
    )
    parser.add_argument("--note", default="", help="with --consent: for whom or what, in free words; it is signed")
    parser.add_argument("-o", "--output", metavar="FILE", required=True, help="the model, or the consent")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Sign or merge. Exit code 0."""
    if arguments.consent is not None:
        return _sign(arguments)
    if arguments.key is not None or arguments.note:
        raise ConsentError("merging: found --key or --note, which go with --consent SHARE")
    shares, consents = _divide(arguments.files)
    active, passive = load_shares(map(Path, shares))
    if active is None:
        raise ShareMismatchError("merging: the share of the active party is missing, which holds the trees")
    model = PooledModel(active, passive)
    if active.parties == (active.party,):
        return _write_whole(active, model, consents, arguments)
    certificates = {}
    for path in map(Path, arguments.certificate):
        certificate = read_certificate(path)
        certificates[common_name(certificate, path)] = certificate
    agreed = check_consents(active, consents, certificates)
    export_xgboost(model, arguments.output)
    for party, consent in agreed.items():
        note = f": {consent.statement.note}" if consent.statement.note else ""
        print(f"{party} consented at {consent.statement.signed_at}{note}")
    count = model.used_rounds * model.n_outputs
    left = f" (of {model.n_trees} trained: those up to the best round)" if count < model.n_trees else ""
    print(f"{arguments.output}: {count} trees{left}, {model.n_features} features of {', '.join(model.parties)}")
    return 0


def _write_whole(
    active: ActiveShare, model: PooledModel, consents: list[Consent], arguments: argparse.Namespace
) -> int:
    """One party's share is the whole model: nobody else has splits in it."""
    if consents or arguments.certificate:
        raise ConsentError(
            f"merging: found consents or certificates, and the share of {active.party!r} is the whole model already; "
            "leave them out"
        )
    export_xgboost(model, arguments.output)
    print(f"the share of {active.party} is the whole model, which everybody who trained it has: no consent is needed")
    if not active.gains_shared:
        print("gains and covers are not shared with users: they are 0 in the file, and predictions are the same")
    print(f"{arguments.output}: {model.n_trees} trees, {model.n_features} features")
    return 0


def _sign(arguments: argparse.Namespace) -> int:
    if arguments.files or arguments.key is None or len(arguments.certificate) != 1:
        raise ConsentError(
            "writing a consent: wanted --consent SHARE --key FILE --certificate FILE -o FILE, one certificate and no "
            "other files"
        )
    share = load_share(arguments.consent)
    consent = sign_consent(share, Path(arguments.key), Path(arguments.certificate[0]), arguments.note)
    save_consent(consent, Path(arguments.output))
    print(f"{arguments.output}: {share.party} consents to merging model {share.seal.model} of run {share.run}")
    return 0


def _divide(files: list[str]) -> tuple[list[str], list[Consent]]:
    """Paths of shares, and consents."""
    shares: list[str] = []
    consents: list[Consent] = []
    for name in files:
        if _is_consent(Path(name)):
            consents.append(read_consent(Path(name)))
        else:
            shares.append(name)
    return shares, consents


def _is_consent(path: Path) -> bool:
    try:
        head = msgspec.json.decode(path.read_bytes())
    except (msgspec.MsgspecError, ValueError):
        return False
    return isinstance(head, dict) and head.get("format") == FORMAT

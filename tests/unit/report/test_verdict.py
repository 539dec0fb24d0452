"""Three sentences on a run: who learned what, in words of the protocol, and what protects."""

from types import SimpleNamespace
from typing import Any

import pytest

from report_runs import record
from vfxgb.protocols import protocol_by_name, shipped_protocols
from vfxgb.report.document import make_document
from vfxgb.secagg import aggregator_names


def _said(ledger: dict[str, Any] | None = None, **changes: object) -> list[str]:
    found: list[str] = make_document(record(**changes), ledger, None)["verdict"]
    return found


def _ledger(*entries: tuple[str, str, int], opened: dict[str, dict[str, int]] | None = None) -> dict[str, Any]:
    kinds = [
        {"receiver": receiver, "sender": "x", "reveals": f"how many {place}", "unit": unit, "amount": amount}
        for place, (receiver, unit, amount) in enumerate(entries)
    ]
    return {"entries": kinds, "opened": opened or {}}


@pytest.mark.parametrize("name", shipped_protocols())
def test_every_protocol_says_it_in_its_own_words(name: str) -> None:
    spec = protocol_by_name(name)
    assert spec.learned is not None
    partner, own, held = _said(protocol=name, security=spec.security, attacks=spec.attacks)
    assert partner == f"shop learns {spec.learned.passive.format(others='bank')}."
    assert own == f"bank learns {spec.learned.active.format(others='shop')}."
    assert "{" not in partner + own
    assert held.startswith("This holds") == (spec.security == "semi-honest")
    assert ("research only" in held) == (spec.security == "broken")
    assert ("in clear" in held) == (spec.security == "none")
    assert f"{len(spec.attacks)} known attack" in held


def test_the_other_side_comes_first_whoever_looks() -> None:
    bank = _said(_ledger(), protocol="sealed", security="semi-honest")
    shop = _said(_ledger(), protocol="sealed", security="semi-honest", party="shop", role="passive")
    assert [one.split()[0] for one in bank] == ["shop", "bank", "This"]
    assert shop == [bank[1], bank[0], bank[2]]


def test_several_partners_stand_together() -> None:
    partners, own, _ = _said(protocol="sealed", parties=("bank", "shop", "telco"))
    assert partners.startswith("shop and telco each learn which of its own splits")
    assert "each split that shop and telco won" in own
    seen_by_one = _said(protocol="sealed", parties=("bank", "shop", "telco"), party="shop", role="passive")
    assert seen_by_one[0].startswith("bank ")
    assert seen_by_one[1].startswith("shop ")


def test_amounts_are_the_largest_that_tell_something() -> None:
    ledger = _ledger(("shop", "ids", 368), ("shop", "nodes", 130), ("shop", "nodes", 119), ("bank", "features", 1))
    silent = {"receiver": "shop", "sender": "bank", "unit": "rows", "amount": 9999}
    ledger["entries"] += [
        silent | {"reveals": "nothing: it is encrypted"},
        silent | {"reveals": "encrypted sums: nothing, because a key lacks"},
    ]
    partner, own, _ = _said(ledger, protocol="sealed")
    assert partner.endswith("(the ledger counts 368 ids and 130 nodes).")
    assert own.endswith("(the ledger counts 1 feature).")
    # What several told by the same message adds up at who received it.
    same = {"receiver": "bank", "reveals": "sums", "unit": "sums", "amount": 70}
    several = {"entries": [same | {"sender": "shop"}, same | {"sender": "telco", "amount": 30}]}
    assert "counts 100 sums" in _said(several, protocol="sealed", parties=("bank", "shop", "telco"))[1]
    split = {"entries": [same | {"sender": "bank", "receiver": name} for name in ("shop", "telco")]}
    assert "counts 70 sums" in _said(split, protocol="sealed", parties=("bank", "shop", "telco"))[0]


@pytest.mark.parametrize(("equations", "said"), [(367, False), (368, True)])
def test_sums_that_can_be_solved_are_said(equations: int, said: bool) -> None:
    opened = {"shop": {"equations": equations, "rows": 368}}
    held = _said(_ledger(opened=opened), protocol="batch_he", security="semi-honest")[-1]
    assert ("shop showed 368 equations in 368 rows" in held) == said


def test_weak_settings_are_said() -> None:
    said = _said(protocol="batch_he", security="semi-honest", protocol_params={"insecure": True})
    assert "allowed settings that do not protect" in said[-1]
    assert not said[-1].startswith("This holds")


@pytest.mark.parametrize("name", aggregator_names())
def test_users_and_their_server(name: str) -> None:
    spec = SimpleNamespace(protocol=name, security="none" if name == "plain" else "active")
    server = _said(role="server", party="lab", parties=("lab",), **vars(spec))
    user = _said(role="user", party="clinic", parties=("lab", "clinic"), **vars(spec))
    assert server[0].startswith("Each user learns the trees")
    assert ("every single user" in server[1]) == (name == "plain")
    assert user[0] == server[1]
    assert user[1].startswith("clinic learns the trees")


def test_alone_and_unknown() -> None:
    assert _said(parties=("bank",)) == ["bank trained alone, with its own columns: nobody else learned anything."]
    assert _said(protocol="") == []
    unknown = _said(_ledger(("shop", "ids", 2)), protocol="of tomorrow", security="")
    assert unknown[0] == "shop learned what its messages said (the ledger counts 2 ids)."
    assert "does not know the protocol" in unknown[2]

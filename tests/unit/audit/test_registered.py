"""Attacks of other packages: by hand or by entry point, next to those that vfxgb ships."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from entry_points import install
from rounded.attack import ATTACK
from rounded.spec import SPEC
from vfxgb.audit import Attack, Outcome, attack_by_name, attack_names, register
from vfxgb.audit.view import AttackerView
from vfxgb.errors import RegistrationError
from vfxgb.registry import Registry


def test_an_attack_of_another_package_is_part_of_an_audit(registry: Registry, attacks: Registry, recorded: Any) -> None:
    registry.register(SPEC)
    register(ATTACK)
    assert attack_by_name("rounded-sign") is ATTACK
    findings = [finding for finding in recorded("rounded").audit().findings if finding.attack == "rounded-sign"]
    assert {finding.attacker for finding in findings} == {"shop", "club"}
    assert all(finding.success == 1.0 > finding.guess for finding in findings)


def nothing(view: AttackerView) -> Outcome:
    return Outcome([])


@pytest.mark.parametrize(
    ("attack", "said"),
    [
        (replace(ATTACK, name="solve"), "registering attack 'solve': there is another one of that name"),
        (replace(ATTACK, name="Rounded Sign"), "wanted an Attack of vfxgb.audit.attack with a name of small letters"),
        (SPEC, "registering attack: found"),
    ],
)
def test_what_is_refused(attacks: Registry, attack: Any, said: str) -> None:
    with pytest.raises(RegistrationError, match=said):
        register(attack)


def test_one_process_alone(attacks: Registry) -> None:
    register(Attack("looks-on", "nothing", "active", ("setup",), nothing))
    assert "looks-on" in attack_names()


def test_by_entry_point(tmp_path: Path) -> None:
    code = "from vfxgb.audit import attack_by_name; print(attack_by_name('rounded-sign').after)"
    run = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=False,
        env=install(tmp_path, "vfxgb.attacks", "rounded-sign = rounded.attack:ATTACK"),
    )
    assert "labels, by the signs of gradients" in run.stdout

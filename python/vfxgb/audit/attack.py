"""What an attack is. One file in attacks/ each, with `ATTACK`; a file is registered by being there."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Literal

from vfxgb.audit.claims import Outcome
from vfxgb.audit.view import AttackerView
from vfxgb.errors import UnknownNameError


@dataclass(frozen=True)
class Attack:
    """An attack's statement about itself, and the attack.

    `name`: its file's, with hyphens. `after`: what it is after, in plain words. `attacker`: which role can run it.
    `needs`: the tags of messages without which there is nothing to attack. `run`: claims out of a view, no more.
    `known_labels`: how many labels the attacker is assumed to know from elsewhere.
    """

    name: str
    after: str
    attacker: Literal["active", "passive"]
    needs: tuple[str, ...]
    run: Callable[[AttackerView], Outcome]
    known_labels: int = 0

    def missing(self, view: AttackerView) -> str:
        """Why the attack does not apply to this party and run; empty if it does."""
        if (self.attacker == "active") != view.active:
            return f"an attack of the {self.attacker} party"
        lacking = [tag for tag in self.needs if tag not in view.tags]
        return f"no message {' or '.join(map(repr, lacking))} in this run" if lacking else ""


@cache
def attack_names() -> tuple[str, ...]:
    """All attacks, sorted."""
    folder = Path(__file__).parent / "attacks"
    return tuple(sorted(file.stem.replace("_", "-") for file in folder.glob("[a-z]*.py")))


@cache
def attack_by_name(name: str) -> Attack:
    """The attack of that name. Raises UnknownNameError."""
    if name not in attack_names():
        raise UnknownNameError(f"choosing an attack: found {name!r}, wanted one of {', '.join(attack_names())}")
    attack: Attack = import_module(f"vfxgb.audit.attacks.{name.replace('-', '_')}").ATTACK
    if attack.name != name:
        raise UnknownNameError(f"loading attack {name!r}: its file describes {attack.name!r}; rename one of them")
    return attack

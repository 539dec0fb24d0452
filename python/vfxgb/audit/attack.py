"""What an attack is. One file in attacks/ each, with `ATTACK`; a file is registered by being there.

Attacks of other packages come in by an entry point of the group "vfxgb.attacks", or by `register` (docs/extending.md):

    [project.entry-points."vfxgb.attacks"]
    leaf-counts = "my_package.leaf_counts:ATTACK"
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from vfxgb.audit.claims import Outcome
from vfxgb.audit.view import AttackerView
from vfxgb.registry import Registry


@dataclass(frozen=True)
class Attack:
    """An attack's statement about itself, and the attack.

    `name`: its file's, with hyphens for underscores. `after`: what it is after, in plain words. `attacker`: which role
    can run it.
    `needs`: the tags of messages without which there is nothing to attack. `run`: claims out of a view, no more.
    `known_labels`: how many labels the attacker is assumed to know from elsewhere. `known_cuts`: whether it is assumed
    to know the bins of the passive parties' columns, and feature and cut of every split that won.
    """

    name: str
    after: str
    attacker: Literal["active", "passive"]
    needs: tuple[str, ...]
    run: Callable[[AttackerView], Outcome]
    known_labels: int = 0
    known_cuts: bool = False

    def missing(self, view: AttackerView) -> str:
        """Why the attack does not apply to this party and run; empty if it does."""
        if (self.attacker == "active") != view.active:
            return f"an attack of the {self.attacker} party"
        lacking = [tag for tag in self.needs if tag not in view.tags]
        return f"no message {' or '.join(map(repr, lacking))} in this run" if lacking else ""


def make_registry() -> Registry:
    """A registry of the attacks in the folder and of installed packages."""
    folder = Path(__file__).parent / "attacks"
    files = [path.stem for path in folder.glob("[a-z]*.py")]
    return Registry(
        "vfxgb.audit.attacks",
        str(folder / "__init__.py"),
        "attack",
        "Attack",
        home=__name__,
        modules={stem.replace("_", "-"): f"vfxgb.audit.attacks.{stem}" for stem in files},
        group="vfxgb.attacks",
        attribute="ATTACK",
        spelling=(r"[a-z][a-z0-9-]*", "small letters, digits and hyphens"),
    )


_REGISTRY = make_registry()


def attack_names() -> tuple[str, ...]:
    """The names of all attacks, sorted."""
    return _REGISTRY.names()


def attack_by_name(name: str) -> Attack:
    """The attack of that name. Raises UnknownNameError, RegistrationError for one that cannot be loaded."""
    attack: Attack = _REGISTRY.load(name)
    return attack


def register(attack: Attack) -> None:
    """Add an attack of another package to this process. Raises RegistrationError, for a name that is taken too."""
    _REGISTRY.register(attack)

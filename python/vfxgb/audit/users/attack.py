"""What an attack of the server is. One file in attacks/ each, with `ATTACK`; a file is registered by being there."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from vfxgb.audit.users.claims import UsersOutcome
from vfxgb.audit.users.view import Floats, NodeCells, ServerView
from vfxgb.registry import Registry


@dataclass(frozen=True)
class UsersAttack:
    """`name`: its file's, with hyphens. `after`: what it is after. `run`: claims out of the server's view, no more."""

    name: str
    after: str
    run: Callable[[ServerView], UsersOutcome]


def make_registry() -> Registry:
    """A registry of the attacks in the folder and of installed packages."""
    folder = Path(__file__).parent / "attacks"
    return Registry(
        "vfxgb.audit.users.attacks",
        str(folder / "__init__.py"),
        "attack on users",
        "UsersAttack",
        home=__name__,
        modules={
            path.stem.replace("_", "-"): f"vfxgb.audit.users.attacks.{path.stem}" for path in folder.glob("[a-z]*.py")
        },
        group="vfxgb.user_attacks",
        attribute="ATTACK",
        spelling=(r"[a-z][a-z0-9-]*", "small letters, digits and hyphens"),
    )


def first_tree(view: ServerView) -> list[NodeCells]:
    """The nodes of the first tree, whose gradients all rows share but for their labels."""
    return [cells for (round_, tree, _), cells in sorted(view.nodes.items()) if round_ == 0 and tree == 0]


def rows_and_ones(view: ServerView, sums: Floats) -> tuple[Floats, Floats]:
    """Rows, and rows of label 1, behind sums [..., 2] of the first tree of binary:logistic: h is p (1 - p) for all."""
    p = 1.0 / (1.0 + np.exp(-float(np.float32(view.start[0]))))
    rows = sums[..., 1] / (p * (1 - p))
    return rows, p * rows - sums[..., 0]

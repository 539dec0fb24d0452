"""Noise of users by configuration: `epsilon` in [users] of a server, and what a user demands and allows."""

from pathlib import Path
from typing import Any

import pytest

from user_files import USERS, Users
from vfxgb.errors import ConsentError, ParameterError
from vfxgb.horizontal.handshake import Invites
from vfxgb.horizontal.privacy import PrivacySettings
from vfxgb.party.config import load_config
from vfxgb.party.folder import PartyFolder
from vfxgb.party.logs import Log
from vfxgb.party.user import UserParty
from vfxgb.party.users_server import UsersServer


def with_lines(path: Path, *lines: str) -> Path:
    """Add lines to [users]."""
    text = path.read_text()
    assert "users = {" in text
    path.write_text(text.replace("users = {", ", ".join(["users = {" + lines[0], *lines[1:]]) + ", "))
    return path


class Private(Users):
    """Users that want noise."""

    def user(self, number: int, address: str, **consent: Any) -> Path:
        """A user's configuration."""
        return with_lines(super().user(number, address, max_epsilon=100.0, **consent), "epsilon = 60.0", "delta = 1e-4")


@pytest.fixture(scope="module")
def users(tmp_path_factory) -> Private:
    return Private(tmp_path_factory.mktemp("private"))


def server_of(users: Users, *lines: str, **train: Any) -> UsersServer:
    return UsersServer(load_config(with_lines(users.server(n_estimators=2, **train), *lines), {}), Log(None))


@pytest.mark.parametrize("splits", ["histogram", "random"])
def test_a_run_with_noise(users: Private, splits: str) -> None:
    own, theirs = users.run(server_of(users, "epsilon = 50.0", f'dp_splits = "{splits}"'))
    assert [one.rounds for one in (own, *theirs)] == [2] * (USERS + 1)
    for party, says in (
        ("server", "about one row of one user: epsilon"),
        ("user-1", "planned for 2 users; the run costs one row of this user at most epsilon 50 at delta 1e-05"),
    ):
        folder = PartyFolder(users.folder / f"{party}-folder").find("latest")
        texts = [path.read_text(errors="replace") for path in folder.path.iterdir() if path.is_file()]
        assert any(says in text for text in texts), party


def test_what_a_user_does_not_agree_to(users: Private) -> None:
    person = UserParty(load_config(Users.user(users, 1, "127.0.0.1:1"), {}), Log(None))
    privacy = PrivacySettings(epsilon=9.0, delta=1e-5, splits="random", honest=2, cut_calls=1, start=True)
    invitation = Invites(
        run=bytes(16),
        number=1,
        purpose="",
        aggregator="masks",
        aggregator_params={},
        params={"n_estimators": 2, "max_depth": 2, "num_class": 1},
        columns=["a", "b"],
        weighted=False,
        directory=b"",
        privacy=privacy,
    )
    with pytest.raises(ConsentError, match="does not agree to epsilon 9 for a row, wanted at most max_epsilon = 8"):
        person._accept(invitation)


def test_a_server_that_cannot_have_noise(users: Private) -> None:
    with pytest.raises(ParameterError, match="objective='reg:squarederror', whose gradients have no bound"):
        server_of(users, "epsilon = 1.0", objective="reg:squarederror")
    with pytest.raises(ParameterError, match="epsilon cannot be had with eval_users"):
        server_of(users, "epsilon = 1.0", "eval_users = true")

"""Certificates, made once."""

import pytest

from network_runs import Town


@pytest.fixture(scope="session")
def town(tmp_path_factory) -> Town:
    return Town(tmp_path_factory.mktemp("town"))

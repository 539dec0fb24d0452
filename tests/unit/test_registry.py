"""Protocols of other packages: registered by hand or by entry point, and never in place of one that is there."""

import dataclasses
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from entry_points import install
from vfxgb import protocols, secagg
from vfxgb.errors import ConsentError, RegistrationError, UnknownNameError
from vfxgb.party.consent import Consent
from vfxgb.party.messages import TrainRequest
from vfxgb.party.sections import ConsentSection
from vfxgb.protocols import protocol_by_name, protocol_names, shipped_protocols
from vfxgb.registry import Registry


def copied(name: str) -> Any:
    return dataclasses.replace(protocol_by_name("batch_he"), name=name)


def test_folders_are_there_by_presence() -> None:
    assert {"plain", "batch_he", "ot_shares"} <= set(shipped_protocols())
    assert {"plain", "masks"} <= set(secagg.aggregator_names())
    with pytest.raises(UnknownNameError, match="choosing an aggregator: found 'mask', wanted one of bcp"):
        secagg.aggregator_by_name("mask")


def test_by_hand(registry: Registry) -> None:
    spec = copied("mine")
    protocols.register(spec)
    protocols.register(spec)  # the same once more is no mistake: modules get imported twice
    assert protocol_by_name("mine") is spec
    assert "mine" in protocol_names()
    assert "mine" not in shipped_protocols()


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        (lambda: copied("plain"), "registering protocol 'plain': there is another one of that name"),
        (lambda: copied("no name"), "wanted a ProtocolSpec"),
        (lambda: "plain", "registering protocol: found 'plain', wanted a ProtocolSpec of vfxgb.contract"),
        (lambda: secagg.aggregator_by_name("masks"), "wanted a ProtocolSpec"),
    ],
)
def test_what_is_refused(registry: Registry, spec: Callable[[], Any], said: str) -> None:
    with pytest.raises(RegistrationError, match=said):
        protocols.register(spec())


def test_being_registered_is_no_consent(registry: Registry) -> None:
    """A protocol that calls itself safe is not among those that a passive party accepts without naming any."""
    protocols.register(copied("mine"))
    request = TrainRequest("mine", {}, n_trees=1, max_depth=3, min_bucket_rows=1, parties=("bank", "shop"))
    with pytest.raises(ConsentError, match="does not agree to the protocol 'mine'"):
        Consent("shop", ConsentSection()).training(request)
    Consent("shop", ConsentSection(protocols=("mine",))).training(request)


@pytest.mark.parametrize(
    ("entries", "code", "said"),
    [
        ("rounded = rounded.spec:SPEC", "print(protocol_by_name('rounded').summary)", "gradients in clear as integers"),
        ("rounded = rounded.spec:SPEC", "print(protocol_names())", "'rounded'"),
        ("plain = rounded.spec:SPEC", "protocol_names()", "RegistrationError: looking for protocols: the entry point"),
        ("other = rounded.spec:SPEC", "protocol_by_name('other')", "its SPEC describes 'rounded'"),
        ("gone = nowhere.spec:SPEC", "protocol_by_name('gone')", "cannot be imported: No module named 'nowhere'"),
    ],
)
def test_by_entry_point(tmp_path: Path, entries: str, code: str, said: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"from vfxgb.protocols import protocol_by_name, protocol_names; {code}"],
        capture_output=True,
        text=True,
        check=False,
        env=install(tmp_path, "vfxgb.protocols", entries),
    )
    assert said in run.stdout + run.stderr

"""What a party does not agree to, and whom it does not know: refused by name at both sides, and serving goes on."""

import json
import socket
from pathlib import Path

import pytest

from processes import at_rest, events, last_run, wait_until
from vfxgb.checksum import checksum
from vfxgb.party.messages import TALK_VERSION
from vfxgb.party.session import hello
from vfxgb.transport.network.certificates import Authority, issue

REFUSED = {
    "purpose": ({"purpose": "marketing"}, "purpose 'marketing'"),
    "trees": ({"train": {"n_estimators": 401}}, "401 trees"),
    "sample": ({"train": {"sampling_method": "goss", "told_sample": True}}, "which rows GOSS chose"),
    "keys": ({"protocol": {"name": "batch_he", "params": {"key_bits": 128, "insecure": True}}}, "keys of 128 bits"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_a_request_beyond_consent_is_refused_by_name(world, addresses, vfxgb, capsys, case):
    changes, said = REFUSED[case]
    config = world.active({"mill": addresses["mill"]}, name=f"refused-{case}", folder=f"refused-{case}", **changes)
    assert vfxgb("train", config, "--quiet") == 4
    told = capsys.readouterr().err
    assert said in told
    assert "mill does not agree" in told
    assert "resume with" not in told
    assert last_run(config).read().state == "failed"
    log = at_rest(world.folder / "mill-folder")
    assert any(event["event"] == "refused" and said in event["text"] for event in log)


def test_predicted_rows_are_counted_over_all_requests(world, vfxgb, tmp_path, capsys, served):
    config = world.active({"mill": served["mill"].address})
    assert vfxgb("train", config, "--quiet") == 0
    run = last_run(config).run
    counts = world.folder / "mill-folder" / "queries.json"
    output = tmp_path / "scores.csv"
    assert vfxgb("predict", config, world.folder / "bank.csv", output) == 0
    at_rest(served["mill"].folder)
    used = json.loads(counts.read_text())
    assert used[run] == len(world.common(("bank", "mill")))
    counts.write_text(json.dumps({**used, run: 4990}))
    capsys.readouterr()
    assert vfxgb("predict", config, world.folder / "bank.csv", output) == 4
    assert "4990 of 5000 are used" in capsys.readouterr().err


def test_a_model_that_a_party_does_not_have_is_refused(world, addresses, vfxgb, tmp_path, capsys):
    config = world.active({"mill": addresses["mill"]})
    assert vfxgb("train", config, "--quiet") == 0
    at_rest(world.folder / "mill-folder")
    folder = world.folder / "mill-folder" / "runs" / last_run(config).run
    folder.rename(folder.with_name("elsewhere"))
    assert vfxgb("predict", config, world.folder / "bank.csv", tmp_path / "scores.csv") == 4
    assert "mill has no share of the model" in capsys.readouterr().err


def test_a_run_of_another_party_is_refused(world, addresses, vfxgb, tmp_path, capsys):
    config = world.active({"mill": addresses["mill"]}, name="owner", folder="owner-folder")
    assert vfxgb("train", config, "--quiet") == 0
    at_rest(world.folder / "mill-folder")
    record = world.folder / "mill-folder" / "runs" / last_run(config).run / "run.json"
    document = {**json.loads(record.read_text()), "parties": ["another", "mill"]}
    record.write_text(json.dumps({**document, "checksum": checksum(document)}))
    assert vfxgb("predict", config, world.folder / "bank.csv", tmp_path / "scores.csv") == 4
    assert "does not agree to bank using run" in capsys.readouterr().err


def test_another_certificate_of_the_same_name_is_refused(world, addresses, vfxgb, tmp_path, capsys):
    authority = Authority(world.folder / "authority.pem", world.folder / "authority.key")
    other = issue(authority, "bank", (), 30, tmp_path)
    config = world.active(
        {"mill": addresses["mill"]}, name="impostor", tls={"certificate": other.certificate, "key": other.key}
    )
    assert vfxgb("train", config, "--quiet") == 3
    assert "mill does not accept this side's certificate" in capsys.readouterr().err

    def told() -> list[dict]:
        return [event for event in events(world.folder / "mill-folder") if "ended before it asked" in event["text"]]

    # TLS refuses it before there is a call: the mill's log has the address, where the system tells it.
    if Path("/proc/net/tcp").exists():
        wait_until(told)
        assert (told()[-1]["event"], told()[-1]["level"]) == ("refused", "warning")
        assert told()[-1]["address"].startswith("127.0.0.1:")


def test_a_peer_that_is_not_the_pinned_one_is_refused(world, addresses, vfxgb, capsys):
    # The shop's address under the mill's name: the certificate that answers is not the mill's.
    config = world.active({"mill": addresses["shop"]}, name="elsewhere")
    assert vfxgb("train", config, "--quiet") == 3
    assert "certificate" in capsys.readouterr().err


def test_nobody_there_is_said_at_once(world, vfxgb, capsys):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    config = world.active({"mill": f"127.0.0.1:{port}"}, name="nobody")
    assert vfxgb("train", config, "--quiet") == 3
    assert f"127.0.0.1:{port}" in capsys.readouterr().err


def test_serving_goes_on_after_all_this(world, addresses, vfxgb):
    config = world.active({"mill": addresses["mill"]}, name="after", folder="after-folder")
    assert vfxgb("train", config, "--quiet") == 0


def test_words_of_another_version_are_refused():
    assert hello("check").talk == TALK_VERSION

import math
from pathlib import Path

import pytest

from vfxgb.cli import main
from vfxgb.errors import ConfigError
from vfxgb.party.config import ROLES, load_config, section
from vfxgb.party.template import template
from vfxgb.transport.network import Limits


def test_paths_are_relative_to_the_file_and_defaults_are_there(write, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    config = load_config(write(), {})
    assert config.folder == tmp_path / "files"
    assert config.tls.key == tmp_path / "bank.key"
    assert config.peers["shop"].certificate == (tmp_path / "shop.pem",)
    assert config.data.train == tmp_path / "bank.csv"
    assert config.data.normalise == ()
    assert math.isnan(config.data.missing)
    assert config.protocol.name == "sealed"
    assert config.consent.min_key_bits == 2048


def test_a_peer_may_have_two_certificates(write, tmp_path):
    config = load_config(write(peers={"shop": {"certificate": ["old.pem", "new.pem"], "address": "b:1"}}), {})
    assert config.peers["shop"].certificate == (tmp_path / "old.pem", tmp_path / "new.pem")
    changed = load_config(write(), {"VFXGB_PEERS__SHOP__CERTIFICATE": '["other.pem", "next.pem"]'})
    assert changed.peers["shop"].certificate == (tmp_path / "other.pem", tmp_path / "next.pem")


def test_the_environment_overrides_single_values(write, tmp_path):
    environment = {
        "VFXGB_TRAIN__N_ESTIMATORS": "7",
        "VFXGB_PEERS__SHOP__ADDRESS": "shop.example.com:99",
        "VFXGB__THREADS": "3",
        "VFXGB_DATA__FEATURES": '["a", "b"]',
        "VFXGB_DATA__TRAIN": "/elsewhere/bank.csv",
        "VFXGB__PURPOSE": "credit scoring",
        "VFXGB_PROTOCOL__PARAMS__KEY_BITS": "3072",
        "VFXGB_THREADS": "8",
        "VFXGB_DATA": "/data",
        "OTHER__VARIABLE": "x",
    }
    config = load_config(write(), environment)
    assert config.train == {"n_estimators": 7}
    assert config.peers["shop"].address == "shop.example.com:99"
    assert config.threads == 3
    assert config.data.features == ("a", "b")
    assert config.data.train == Path("/elsewhere/bank.csv")
    assert config.purpose == "credit scoring"
    assert config.protocol.params == {"key_bits": 3072}


def test_a_mistake_of_the_environment_names_the_variable(write):
    with pytest.raises(ConfigError, match=r"\(with VFXGB_PEERS__MILL__ADDRESS of the environment\).*certificate"):
        load_config(write(), {"VFXGB_PEERS__MILL__ADDRESS": "mill.example.com:99"})


WRONG = {
    "unknown key": ({"pary": "x"}, "no key 'pary'; did you mean 'party'"),
    "unknown key of a section": ({"data": {"train": "a.csv", "lable": "y"}}, "did you mean 'label'"),
    "unknown key of a peer": (
        {"peers": {"shop": {"certificate": "a", "adress": "b"}}},
        "[peers.shop] has no key 'adress'; did you mean 'address'",
    ),
    "certificate of a peer": (
        {"peers": {"shop": {"certificate": 3, "address": "b:1"}}},
        "[peers.shop] has certificate = 3, wanted a path, or a list of two",
    ),
    "no certificate of a peer": ({"peers": {"shop": {"certificate": [], "address": "b:1"}}}, "certificate = []"),
    "one certificate twice": ({"peers": {"shop": {"certificate": ["a", "a"], "address": "b:1"}}}, "two different ones"),
    "type": ({"data": {"train": "a.csv", "label": 3}}, "data.label = 3, wanted text"),
    "path": ({"folder": 3}, "folder"),
    "role": ({"role": "boss"}, 'role = "boss", wanted one of "active", "passive"'),
    "missing": ({"tls": None}, "tls"),
    "party name": ({"party": "../bank"}, "'../bank'"),
    "itself": ({"peers": {"bank": {"certificate": "a", "address": "b:1"}}}, "names the party itself"),
    "no peers": ({"peers": None}, "there is no [peers.NAME]"),
    "no address": ({"peers": {"shop": {"certificate": "a"}}}, "needs address"),
    "no label": ({"data": {"train": "a.csv"}}, "needs label"),
    "consent of an active party": ({"consent": {"max_trees": 3}}, "[consent] is for passive and user"),
    "users of an active party": ({"users": {"directory": "x"}}, "[users] is for server and user"),
    "threads": ({"threads": 0}, "threads = 0, wanted an integer of at least 1"),
    "sessions": ({"max_sessions": 0}, "max_sessions = 0, wanted an integer of at least 1"),
    "unfinished runs": ({"max_unfinished_runs": 0}, "max_unfinished_runs = 0, wanted an integer of at least 1"),
    "log bytes": ({"log_bytes": 10}, "log_bytes = 10, wanted an integer of at least 1000"),
    "log files": ({"log_files": -1}, "log_files = -1, wanted an integer of at least 0"),
    "patience": ({"resume": {"resume_seconds": -1.0}}, "resume_seconds = -1.0, wanted a number from 0 to 1e+09"),
    "two seals": ({"resume": {"key_file": "k", "passphrase_env": "P"}}, "wanted one of them"),
}


@pytest.mark.parametrize(
    ("key", "value"),
    [("max_epsilon", "nan"), ("max_epsilon", -1.0), ("max_total_epsilon", "nan")],
)
def test_limits_that_are_none_are_refused(tmp_path, write, key, value):
    """Nothing is ever above NaN: as a limit it would allow everything."""
    path = write("passive", consent={key: 1})
    path.write_text(path.read_text().replace(f"{key} = 1", f"{key} = {value}"))
    with pytest.raises(ConfigError, match=f"{key} = {value}, wanted a number of at least 0"):
        load_config(path, {})


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_named(write, case):
    changes, said = WRONG[case]
    with pytest.raises(ConfigError, match="reading the configuration") as raised:
        load_config(write(**changes), {})
    assert said in str(raised.value)


PASSIVE_WRONG = {
    "listen": ({"listen": None}, "needs listen"),
    "metrics": ({"metrics": {"listen": "nine"}}, "listen of [metrics]: found 'nine', wanted host:port"),
    "label": ({"data": {"train": "a.csv", "label": "y"}}, "label of [data] is the active party's"),
    "train": ({"train": {"max_depth": 3}}, "[train] is for active and server"),
    "protocol": ({"protocol": {"name": "plain"}}, "has `local` only"),
    "two peers": (
        {"peers": {"bank": {"certificate": "a"}, "other": {"certificate": "b"}}},
        "has one peer, found bank, other",
    ),
}


@pytest.mark.parametrize("case", PASSIVE_WRONG)
def test_what_a_passive_party_cannot_have_is_named(write, case):
    changes, said = PASSIVE_WRONG[case]
    with pytest.raises(ConfigError) as raised:
        load_config(write("passive", **changes), {})
    assert said in str(raised.value)


@pytest.mark.parametrize("text", [b"party = ", b"\xff\xfe", b"party = 1\nparty = 2"])
def test_a_file_that_is_no_toml(tmp_path, text):
    (tmp_path / "x.toml").write_bytes(text)
    with pytest.raises(ConfigError, match="it is no TOML"):
        load_config(tmp_path / "x.toml", {})


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ConfigError, match="`vfxgb init` writes one"):
        load_config(tmp_path / "x.toml", {})


def test_a_section_that_others_check(write):
    config = load_config(write(network={"step_seconds": 5.0}), {})
    assert section(Limits, config.network, "network", config.path).step_seconds == 5.0
    config = load_config(write(network={"step_second": 5.0}), {})
    with pytest.raises(ConfigError, match="did you mean 'step_seconds'"):
        section(Limits, config.network, "network", config.path)
    config = load_config(write(network={"step_seconds": "long"}), {})
    with pytest.raises(ConfigError, match="step_seconds"):
        section(Limits, config.network, "network", config.path)


@pytest.mark.parametrize("role", ROLES)
def test_what_init_writes_is_a_configuration(tmp_path, role, capsys):
    file = tmp_path / f"{role}.toml"
    assert main(["init", str(file), "--role", role]) == 0
    config = load_config(file, {})
    assert (config.party, config.role) == (role, role)
    section(Limits, config.network, "network", file)
    assert main(["init", str(file), "--role", role]) == 2
    assert "is there already" in capsys.readouterr().err
    # What is commented out is right too, once the comment sign is gone.
    text = template(role, role, "other", file.name)
    lines = [line.removeprefix("# ") if line.startswith("# ") and " = " in line else line for line in text.splitlines()]
    open_lines = [line for line in lines if "passphrase_env" not in line and "VFXGB_<SECTION>" not in line]
    file.write_text("\n".join(open_lines))
    load_config(file, {})


@pytest.mark.parametrize("consent", [{"max_claimed_ids": 0}, {"max_claimed_ids": 4, "min_claimed_ids": 5}])
def test_claims_that_no_alignment_could_make(write, consent):
    with pytest.raises(ConfigError, match=r"of \[consent\] would refuse every alignment"):
        load_config(write("passive", consent=consent), {})

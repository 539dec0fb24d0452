"""The commands of compose.yaml, as processes, one by one: a shop that serves, a training, scores, health checks.

Folders of the test stand for those of the container, and free ports of the loopback address for its own.
"""

import http.client
import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from processes import DEADLINE, start, wait_until
from vfxgb.party.healthy import main as healthy
from vfxgb.transport.network.certificates import issue, make_authority

CONTAINER = Path(__file__).parents[2] / "deploy" / "container"
COMPOSE: dict[str, Any] = yaml.safe_load((CONTAINER / "compose.yaml").read_text())
SECRET = "0123456789abcdef-secret"
ROWS = 300
SMALL = {"VFXGB_TRAIN__N_ESTIMATORS": "2", "VFXGB_TRAIN__MAX_DEPTH": "2"}


class Compose:
    """The services of compose.yaml with folders below `folder` in place of their volumes."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.running: list[subprocess.Popen[bytes]] = []
        authority = make_authority(folder)
        made = {party: issue(authority, party, ("127.0.0.1",), 30, folder) for party in ("bank", "shop")}
        generator = np.random.default_rng(7)
        values = generator.normal(size=(ROWS, 4))
        labels = (values.sum(axis=1) > 0).astype(int)
        for party, columns in (("bank", (0, 1)), ("shop", (2, 3))):
            etc = folder / party
            (etc / "certs").mkdir(parents=True)
            (folder / f"{party}-var").mkdir(mode=0o700)
            config = (CONTAINER / party / f"{party}.toml").read_text()
            (etc / f"{party}.toml").write_text(config.replace("/var/lib/vfxgb", str(folder / f"{party}-var")))
            (etc / "certs" / f"{party}.key").write_bytes(made[party].key.read_bytes())
            (etc / "certs" / f"{party}.key").chmod(0o600)
            for other in made:
                (etc / "certs" / f"{other}.pem").write_bytes(made[other].certificate.read_bytes())
            names = ["id", *(f"x{column}" for column in columns), *(["label"] if party == "bank" else [])]
            rows = [
                [f"c{row}", *values[row, columns], *([labels[row]] if party == "bank" else [])] for row in range(ROWS)
            ]
            (etc / f"{party}.csv").write_text("\n".join(",".join(map(str, line)) for line in [names, *rows]) + "\n")
        (folder / "bank" / "token").write_text(SECRET)
        (folder / "bank" / "token").chmod(0o600)

    def begin(self, service: str, *more: str, **environment: str) -> tuple[subprocess.Popen[bytes], Path]:
        """Start the command of a service; its output goes to the file that is returned."""
        described = COMPOSE["services"][service]
        (etc,) = (volume.partition(":")[0] for volume in described["volumes"] if ":/etc/vfxgb" in volume)
        words = [word.replace("/etc/vfxgb", str(self.folder / etc)) for word in described["command"]]
        words = [word.replace("0.0.0.0", "127.0.0.1") for word in words]
        log = self.folder / f"{service}.out"
        process = start(*words, *more, log=log, env=environment)
        self.running.append(process)
        return process, log

    def end(self) -> None:
        for process in self.running:
            process.kill()
            process.wait(DEADLINE)


@pytest.fixture
def compose(tmp_path: Path) -> Iterator[Compose]:
    made = Compose(tmp_path)
    yield made
    made.end()


def _told(process: "subprocess.Popen[bytes]", log: Path, pattern: str) -> str:
    """What the process says in place of the pattern's group, once it does."""

    def there() -> bool:
        assert process.poll() is None, log.read_text()
        return re.search(pattern, log.read_text()) is not None

    wait_until(there)
    found = re.search(pattern, log.read_text())
    assert found is not None
    return found.group(1)


def test_the_services_one_by_one(compose: Compose) -> None:
    here = {"VFXGB__LISTEN": "127.0.0.1:0", "VFXGB_METRICS__LISTEN": "127.0.0.1:0"}
    shop, log = compose.begin("shop", **here)
    address = _told(shop, log, r"listening address=(\S+)\s")
    metrics = _told(shop, log, r"metrics address=(\S+)\s")
    assert healthy([f"http://{metrics}/metrics"]) == 0

    there = {"VFXGB_PEERS__SHOP__ADDRESS": address}
    train, log = compose.begin("train", **there, **SMALL)
    assert train.wait(DEADLINE) == 0, log.read_text()

    scores, log = compose.begin("scores", "--port", "0", **there)
    port = _told(scores, log, r"scoring at http://127\.0\.0\.1:(\d+)/score")
    assert healthy([f"http://127.0.0.1:{port}/health"]) == 0
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=DEADLINE)
    row = {"id": "c1", "features": {"x0": 0.5, "x1": None}}
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {SECRET}"}
    connection.request("POST", "/score", json.dumps({"rows": [row]}), headers)
    answer = connection.getresponse()
    (score,) = json.loads(answer.read())["scores"]
    assert answer.status == 200
    assert 0 < score < 1
    connection.close()

    shop.terminate()
    assert shop.wait(DEADLINE) == 0
    wait_until(lambda: healthy([f"http://127.0.0.1:{port}/health"]) == 1)
    scores.terminate()
    assert scores.wait(DEADLINE) == 0


def test_what_compose_promises() -> None:
    for service in COMPOSE["services"].values():
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["user"] == "10001:10001"
        assert all(volume.endswith(":ro") for volume in service["volumes"] if ":/etc/vfxgb" in volume)


def test_the_health_check_asks_this_machine_alone(capsys: pytest.CaptureFixture[str]) -> None:
    assert healthy(["http://192.0.2.1/health"]) == 2
    assert healthy(["https://127.0.0.1/health"]) == 2
    assert healthy([]) == 2
    assert "wanted http://127.0.0.1:PORT/PATH" in capsys.readouterr().err
    # Port 1 of this machine: nobody is there.
    assert healthy(["http://127.0.0.1:1/health"]) == 1


def test_the_check_of_the_image_is_the_one_that_is_there() -> None:
    (line,) = re.findall(r"^    CMD (\[.*\])$", (CONTAINER / "Containerfile").read_text(), re.MULTILINE)
    program, *words = json.loads(line)
    assert program == "python"
    done = subprocess.run([sys.executable, *words], timeout=DEADLINE, check=False)
    assert done.returncode in (0, 1), shlex.join(words)

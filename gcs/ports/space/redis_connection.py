"""The connection to a Redis or Valkey server, Sentinel group or Cluster: commands and scripts, with patience.

A server that is down, loading, failing over, or out of disk or memory is waited for: commands are tried again with
growing pauses until `patience_s` is over, then SpaceError. Everything else that goes wrong is a SpaceError at once. A
key into which somebody has put something else is moved out of the way (KEY:foreign), a value that no script can use is
made again (mend.lua), and the script runs again.
So a command may be carried out twice (its answer was lost): scripts are written for that, see `port`.

Invariant: no exception of redis-py leaves this module, and replies come as RESP2 gives them (bytes, ints, lists).
"""

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from gcs.errors import SpaceError, StuckError
from gcs.events import Events
from gcs.ports.space.address import SpaceAddress

FIRST_PAUSE_S, LAST_PAUSE_S = 0.02, 1.0
#: longest wait for the answer to a command; blocking reads ask for less (`BLOCK_S`)
ANSWER_S = 10.0
#: the least version that has what the scripts use (XPENDING IDLE, exclusive ranges)
LEAST_VERSION = (6, 2)
#: errors that pass by themselves and that redis-py has no class for, by their first word
PASSING = ("MISCONF", "NOREPLICAS", "BUSY ", "UNBLOCKED")
#: in errors that mending the keys may cure: of another type, or what they hold makes one of our scripts fail
MENDED = ("WRONGTYPE", "user_script")

#: seconds after the first warning that the server is out of memory until the next one; doubled every time
WARN_AGAIN_S = 30.0

events = Events("space")

LUA = Path(__file__).parent / "lua"
PRELUDE = (LUA / "prelude.lua").read_text("utf-8")


class Script:
    """One of our server-side scripts: the shared prelude, then its own file."""

    def __init__(self, name: str) -> None:
        self.text = PRELUDE + (LUA / f"{name}.lua").read_text("utf-8")
        self.sha = hashlib.sha1(self.text.encode(), usedforsecurity=False).hexdigest()


MEND = Script("mend")


class OutOfMemoryError(SpaceError, StuckError):
    """The server has reached its own memory limit: as good as a full inbox."""


class NoGroupError(SpaceError):
    """A stream has gone (the server forgot it, or somebody deleted it): the next script makes it again."""


class ForeignKeyError(SpaceError):
    """Somebody has put something else into one of our keys, or a script failed at what it holds."""


class RedisConnection:
    """A client with patience. Made by `connect`."""

    def __init__(self, client: Any, others: Sequence[Any], address: SpaceAddress, patience_s: float) -> None:
        self._client = client
        #: clients of the sentinels, which tell where the master is
        self._others = others
        self._address = address
        self.patience_s = patience_s
        #: since when the server does not answer; logged once, however many calls wait
        self._away_at: float | None = None
        #: since when the server refuses writes for want of memory, and when that is logged again
        self._short_at: float | None = None
        self._warn_at, self._warn_again_s = 0.0, WARN_AGAIN_S
        for command in ("XREAD", "XREADGROUP", "XRANGE", "XPENDING", "XINFO GROUPS"):
            client.set_response_callback(command, lambda reply, **_: reply)

    async def run(self, script: Script, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        """Run a script; if memory is short, when there is some again."""
        return await self._run(script, keys, arguments, self.patience_s)

    async def run_now(self, script: Script, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        """Run a script; OutOfMemoryError at once if memory is short."""
        return await self._run(script, keys, arguments, 0.0)

    async def command(self, *words: Any) -> Any:
        return await self._patiently(lambda: self._client.execute_command(*words))

    async def _run(self, script: Script, keys: Sequence[str], arguments: Sequence[Any], memory_s: float) -> Any:
        try:
            return await self._patiently(lambda: self._evaluate(script, keys, arguments), memory_s)
        except ForeignKeyError:
            await self.mend(keys)
            return await self._patiently(lambda: self._evaluate(script, keys, arguments), memory_s)

    async def mend(self, keys: Sequence[str]) -> None:
        """Move what somebody else has put into these keys out of the way, and make sound what is in them."""
        moved = await self._patiently(lambda: self._evaluate(MEND, keys, [_type_of(key) for key in keys]))
        for key in moved:
            events.warning(
                "foreign-key", key=key.decode(), advice="something else writes to this Redis, or to its files"
            )

    async def keys(self, pattern: str) -> list[str]:
        """All keys that match, on every node."""

        async def scan() -> list[str]:
            return [key.decode() async for key in self._client.scan_iter(match=pattern, count=1000)]

        found: list[str] = await self._patiently(scan)
        return found

    async def close(self) -> None:
        import redis.exceptions as failures

        for client in (self._client, *self._others):
            with suppress(failures.RedisError):  # a server that is too slow to say goodbye is left all the same
                await client.aclose()

    async def _evaluate(self, script: Script, keys: Sequence[str], arguments: Sequence[Any]) -> Any:
        import redis.exceptions as failures

        try:
            return await self._client.execute_command("EVALSHA", script.sha, len(keys), *keys, *arguments)
        except failures.NoScriptError:  # a new server, or one that restarted
            return await self._client.execute_command("EVAL", script.text, len(keys), *keys, *arguments)

    async def _patiently(self, call: Callable[[], Awaitable[Any]], memory_s: float | None = None) -> Any:
        """`memory_s`: how long to wait for memory, if not as long as for everything else."""
        pause_s, begun, was_short = FIRST_PAUSE_S, None, False
        task = asyncio.current_task()
        assert task is not None
        cancelled = task.cancelling()
        while True:
            try:
                reply = await call()
                if task.cancelling() > cancelled:  # redis-py writes with asyncio.wait_for, which can swallow that
                    raise asyncio.CancelledError
            except Exception as error:
                now = asyncio.get_running_loop().time()
                begun = now if begun is None else begun
                mapped = None if _passes(error) else self._mapped(error)
                if isinstance(mapped, OutOfMemoryError):
                    was_short = True
                    self._tell_short(now)
                    if now - begun + pause_s > (self.patience_s if memory_s is None else memory_s):
                        raise mapped from error
                elif mapped is not None:
                    raise mapped from error
                elif not _passes(error):
                    raise
                elif self._away_at is None:
                    self._away_at = now
                    events.warning("unreachable", space=str(self._address), error=str(error))
                if mapped is None and now - begun + pause_s > self.patience_s:
                    raise self._exhausted(error) from error
            else:
                if self._away_at is not None:
                    after_s = round(asyncio.get_running_loop().time() - self._away_at, 3)
                    self._away_at = None
                    events.info("reached", space=str(self._address), after_s=after_s)
                if was_short and self._short_at is not None:
                    after_s = round(asyncio.get_running_loop().time() - self._short_at, 3)
                    self._short_at = None
                    events.info("memory-again", space=str(self._address), after_s=after_s)
                return reply
            await asyncio.sleep(pause_s * random.uniform(0.5, 1.0))  # so that a team does not come back in step
            pause_s = min(2 * pause_s, LAST_PAUSE_S)

    def _tell_short(self, now: float) -> None:
        """Say that memory is short: once, then ever more rarely, however many calls wait and come through."""
        if self._short_at is None:
            self._short_at = now
        if now >= self._warn_at:
            self._warn_at, self._warn_again_s = now + self._warn_again_s, 2 * self._warn_again_s
            waits = f"waiting for {self.patience_s:g} s at most"
            events.warning("out-of-memory", space=str(self._address), advice=f"raise its maxmemory; {waits}")

    def _exhausted(self, error: Exception) -> SpaceError:
        if str(error).startswith(PASSING):  # it is there, but its disk is full, its replicas are gone, …
            return SpaceError(f"{self._address} has refused for {self.patience_s:g} s: {error}; see to that first")
        return SpaceError(f"{self._address} did not answer for {self.patience_s:g} s ({error}): is it running?")

    def _mapped(self, error: Exception) -> SpaceError | None:
        """Our error for one of redis-py or the system; None for a mistake in our own code."""
        import redis.exceptions as failures

        in_script = "OOM command not allowed" in str(error)  # as Redis 6.2 says it
        if isinstance(error, failures.OutOfMemoryError) or in_script:
            return OutOfMemoryError(
                f"{self._address} is out of memory: raise its maxmemory, then start the crawl again; nothing is lost"
            )
        if isinstance(error, failures.ResponseError) and str(error).startswith("NOGROUP"):
            return NoGroupError(f"{self._address}: {error}")
        if isinstance(error, failures.ResponseError) and any(word in str(error) for word in MENDED):
            return ForeignKeyError(f"{self._address}: {error}")
        if isinstance(error, failures.MovedError) or str(error).startswith("MOVED"):
            return SpaceError(f"{self._address} is a node of a cluster: give it as redis+cluster://…")
        if isinstance(error, failures.RedisError | failures.RedisClusterException | OSError):
            return SpaceError(f"{self._address}: {error}")
        return None


def _type_of(key: str) -> str:
    """The Redis type of one of our keys (see `Keys` in redis_space.py)."""
    if key.endswith(":until"):
        return "zset"
    return "hash" if key.endswith((":book", ":tickets")) else "stream"


async def connect(address: SpaceAddress, patience_s: float) -> RedisConnection:
    """A connection to a server that answers, is new enough, and does not evict."""
    connection = RedisConnection(*_clients(address), address, patience_s)
    try:
        await _check(connection, address)
    except BaseException:
        await connection.close()
        raise
    return connection


def _clients(address: SpaceAddress) -> tuple[Any, Sequence[Any]]:
    """The client of the server, and those of its sentinels if it has any."""
    import redis.asyncio as redis
    from redis.asyncio.retry import Retry
    from redis.asyncio.sentinel import Sentinel
    from redis.backoff import NoBackoff

    once = Retry(NoBackoff(), 0)  # `_patiently` is the one place that tries again
    common: dict[str, Any] = {"protocol": 2, "socket_timeout": ANSWER_S, "socket_connect_timeout": ANSWER_S / 2}
    common |= address.login()
    if address.kind == "cluster":
        nodes = [redis.cluster.ClusterNode(host, port) for host, port in address.hosts]
        return redis.RedisCluster(startup_nodes=nodes, require_full_coverage=False, **common), ()
    common["retry"] = once
    if address.kind == "sentinel":
        sentinel_login = {
            "username": address.options.get("sentinel_user"),
            "password": address.options.get("sentinel_password"),
        }
        sentinel: Any = Sentinel(list(address.hosts), sentinel_kwargs=common | sentinel_login, **common)  # type: ignore[no-untyped-call]
        return sentinel.master_for(address.master, db=address.db), sentinel.sentinels
    if address.socket:
        return redis.Redis(unix_socket_path=address.socket, **common), ()
    host, port = address.hosts[0]
    return redis.Redis(host=host, port=port, db=address.db, **common), ()


async def _check(connection: RedisConnection, address: SpaceAddress) -> None:
    information = await connection.command("INFO")
    if address.kind == "cluster":  # one node's answer, or a dictionary of them by node
        information = next(iter(information.values())) if "redis_version" not in information else information
    version = tuple(int(part) for part in str(information["redis_version"]).split(".")[:2])
    if version < LEAST_VERSION:
        raise SpaceError(f"{address} is Redis {information['redis_version']}: 6.2 or later is needed")
    policy = str(information.get("maxmemory_policy", ""))
    if int(information.get("maxmemory", 0)) and policy.startswith("allkeys"):
        raise SpaceError(
            f"{address} drops keys when its memory is full (maxmemory-policy {policy}), which would lose URLs: "
            "set it to noeviction"
        )


def _passes(error: Exception) -> bool:
    """Whether it is worth trying again."""
    import redis.exceptions as failures

    if isinstance(error, failures.AuthenticationError | failures.AuthorizationError):
        return False
    if isinstance(error, RuntimeError) and "handler is closed" in str(error):
        return True  # of uvloop: the server has hung up just when the connection was made
    if isinstance(error, failures.RedisClusterException):  # raised for our mistakes too, but those are tested away
        return True
    waiting = (
        failures.ConnectionError
        | failures.TimeoutError
        | failures.ReadOnlyError
        | failures.ClusterDownError
        | failures.MasterDownError
        | failures.TryAgainError
        | OSError
    )
    return isinstance(error, waiting) or (isinstance(error, failures.RedisError) and str(error).startswith(PASSING))

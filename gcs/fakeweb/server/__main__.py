"""`python -m gcs.fakeweb.server --spec JSON --port N`: serves a fake web until stdin closes or SIGTERM.

Prints one line of JSON when it is ready: port, control_port, seeds, and the number of hosts.
"""

import argparse
import asyncio
import contextlib
import json
import os
import signal
import sys
import threading

import uvloop

from gcs.errors import UsageError
from gcs.fakeweb import FakeWebSpec
from gcs.fakeweb.server.listener import FakeWeb


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m gcs.fakeweb.server", description="Serves a fake web.")
    parser.add_argument("--spec", default="{}", help="settings as a JSON object, over those of the demo")
    parser.add_argument("--port", type=int, default=0, help="port of all hosts; 0 takes a free one")
    options = parser.parse_args()
    try:
        try:
            spec = FakeWebSpec.demo(**json.loads(options.spec))
        except (TypeError, ValueError) as error:
            raise UsageError(f"fake web: --spec is not a JSON object of known settings: {error}") from None
        uvloop.run(serve(spec, options.port))
    except UsageError as error:
        print(error, file=sys.stderr)
        return error.exit_code
    return 0


async def serve(spec: FakeWebSpec, port: int) -> None:
    loop = asyncio.get_running_loop()
    stop = asyncio.Event()
    loop.add_signal_handler(signal.SIGTERM, stop.set)
    loop.add_signal_handler(signal.SIGINT, stop.set)
    async with FakeWeb(spec, port) as server:
        ready = {"port": server.port, "control_port": server.control_port, "seeds": server.seeds, "hosts": spec.hosts}
        print(json.dumps(ready), flush=True)
        # a thread, because stdin may be anything: a pipe, a terminal, a file
        threading.Thread(target=_until_eof, args=(loop, stop), daemon=True).start()
        await stop.wait()


def _until_eof(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> None:
    # not sys.stdin: its lock would be held when the interpreter ends
    with contextlib.suppress(OSError):
        while os.read(0, 4096):
            pass
    loop.call_soon_threadsafe(stop.set)


if __name__ == "__main__":
    sys.exit(main())

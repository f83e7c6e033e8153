"""Runner of a setup between two network namespaces: captures at both ends, and duration of its requests."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tests.truth.field import proxies
from tests.truth.field.scenario import SERVER_PORT, Scenario
from tests.truth.field.testbed import SETTLE_SECONDS, Run, inside, within
from tests.truth.wire import read_flows

if TYPE_CHECKING:
    from .culprits import Setup

__all__ = ["Done", "run"]

_PEER: Final = Path(__file__).with_name("peer.py")
_ADDRESS: Final = "10.9.0.2"
#: Applies to busy machines, too.
_AT_ONCE: Final = ("chrt", "--fifo", "10")
_SIZES: Final = (3000, 1_000_000)
_NGINX: Final = """daemon off; worker_processes 1; pid {folder}/pid; error_log {folder}/error.log; user root;
events {{}}
http {{ access_log off; server {{ listen {port} http2; root {folder}/files; }} }}
"""


_CERTIFY: Final = (
    "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=server"
    " -keyout {folder}/key.pem -out {folder}/public.pem"
)
_NODE: Final = """
const http2 = require("http2"), fs = require("fs"), [folder, port] = process.argv.slice(2);
const [cert, key] = ["public", "key"].map(name => fs.readFileSync(`${folder}/${name}.pem`));
const server = http2.createSecureServer({ cert, key });
server.on("keylog", line => fs.appendFileSync(`${folder}/keys.log`, line));
server.on("stream", (stream, asked) => {
  stream.respond({ ":status": 200 });
  stream.end(Buffer.alloc(parseInt(asked[":path"].slice(1))));
});
server.listen(Number(port));
"""


@dataclass(frozen=True)
class Done:
    #: Captures by capture point.
    captures: dict[str, Path]
    #: TLS secrets, if any.
    keys: Path
    #: Total duration of all requests; for a command, from its first SYN to its last byte.
    took_ns: int


class _Http2Run(Run):
    def __init__(self, setup: Setup, folder: Path) -> None:
        super().__init__(Scenario("http2", "http2", links=(setup.link,)), folder)
        self.setup = setup
        self.took_ns = 0

    def _ends(self) -> list[int]:
        """Start no poll of the kernels' sockets."""
        return []

    def _route(self) -> None:
        super()._route()
        window = str(self.setup.initial_window)
        for number, host in enumerate(self.hosts):
            idle = f"net.ipv4.tcp_slow_start_after_idle={int(self.setup.restarts_after_idle)}"
            memory = [f"net.ipv4.tcp_{way}mem=4096 6291456 16777216" for way in "rw"]
            within(host, "sysctl", "-qw", idle, memory[0], *memory[1:])
            to = f"10.9.0.0/24 dev eth0 src 10.9.0.{number + 1} congctl cubic initcwnd {window} initrwnd 4000"
            within(host, "ip", "route", "replace", *to.split())

    def _start_servers(self) -> None:
        setup = self.setup
        if not setup.server_command:
            settings = {**setup.server, "port": SERVER_PORT}
            self._start(self.hosts[-1], sys.executable, str(_PEER), json.dumps(settings))
            return
        proxies.write_files(self.folder, _SIZES)
        names = {"folder": self.folder, "port": SERVER_PORT}
        (self.folder / "nginx.conf").write_text(_NGINX.format(**names))
        (self.folder / "node.js").write_text(_NODE)
        subprocess.run(shlex.split(_CERTIFY.format(**names)), check=True, capture_output=True)
        self._start_daemon(-1, [*_AT_ONCE, *shlex.split(setup.server_command.format(**names))], SERVER_PORT)

    def _drive_client(self) -> None:
        setup = self.setup
        settings = {**setup.client, "host": _ADDRESS, "port": SERVER_PORT}
        url = f"{_ADDRESS}:{SERVER_PORT}"
        command = [sys.executable, str(_PEER), json.dumps(settings)]
        if setup.client_command:
            command = [*_AT_ONCE, *shlex.split(setup.client_command.format(url=url))]
        with subprocess.Popen(
            inside(self.hosts[0], *command), stdin=subprocess.PIPE, stdout=subprocess.PIPE
        ) as process:
            assert process.stdout is not None
            said = process.stdout.readline() if not setup.client_command else process.stdout.read()
            # The captures must contain the last packets.
            time.sleep(SETTLE_SECONDS + setup.link.rtt_ms / 1000)
            self._exit.close()
        if not setup.client_command:
            self.took_ns = int(said)
            return
        flows = read_flows(self.capture("client"))
        packets = [packet for flow in flows for packet in flow.packets]
        last = max(packet.time_ns for flow in flows for packet in flow.data(by_client=False))
        self.took_ns = last - min(packet.time_ns for packet in packets)


def run(setup: Setup, folder: Path) -> Done:
    """Run the setup, once more if a capture lacks packets."""
    for attempt in range(2):
        where = folder / str(attempt)
        where.mkdir(parents=True)
        where.chmod(0o755)
        done = _Http2Run(setup, where)
        done.execute()
        if done.has_every_packet():
            break
    captures = {point: done.capture(point) for point in done.scenario.points}
    return Done(captures, where / "keys.log", done.took_ns)

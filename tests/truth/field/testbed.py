"""Hosts as a chain of network namespaces, the links between them, and their programs."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from . import proxies
from .scenario import FRONT_PORT, SERVER_PORT, Scenario, plain

if TYPE_CHECKING:
    from .scenario import Link

__all__ = ["SETTLE_SECONDS", "Run", "inside", "run", "within"]

_HERE: Final = Path(__file__).parent
#: Place of each capture point: the host's number in the chain (negative: from the end), and the interface.
_POINTS: Final = {
    "client": (0, "eth0"),
    "server": (-1, "eth0"),
    "front": (1, "eth0"),
    "upstream": (1, "eth1"),
    "both": (1, "any"),
    "any": (1, "any"),
}
_OFFLOADS: Final = ("tso", "gso", "gro", "tx", "sg")
_SYSCTLS: Final = (
    "net.ipv4.tcp_no_metrics_save=1",
    "net.ipv4.ip_forward=1",
    "net.ipv6.conf.all.disable_ipv6=1",
    "net.ipv6.conf.default.disable_ipv6=1",
)
SETTLE_SECONDS: Final = 0.1
_START_SECONDS: Final = 5.0
_numbers = itertools.count()


class Run:
    """Running scenario, and its results: captures and logs by name."""

    def __init__(self, scenario: Scenario, folder: Path) -> None:
        self.scenario, self.folder = scenario, folder
        prefix = f"field{os.getpid()}-{next(_numbers)}-"
        self.hosts = [f"{prefix}{number}" for number in range(len(scenario.links) + 1)]
        self._exit = ExitStack()
        self._tcpdumps: list[Path] = []
        self.transactions: list[dict[str, Any]] = []

    def log(self, name: str) -> Any:
        path = self.folder / f"{name}.log"
        return json.loads(path.read_text()) if path.exists() else []

    def capture(self, point: str) -> Path:
        return self.folder / f"{point}.pcap"

    def sockets(self) -> list[dict[str, Any]]:
        """Kernels' view of the sockets on all end hosts."""
        return [told for number in self._ends() for told in self.log(f"sockets{number}")["sockets"]]

    def gaps(self) -> list[list[int]]:
        """Return the intervals without a poll on at least one host."""
        return [gap for number in self._ends() for gap in self.log(f"sockets{number}")["gaps"]]

    def has_every_packet(self) -> bool:
        return all("\n0 packets dropped by kernel" in path.read_text() for path in self._tcpdumps)

    def _ends(self) -> list[int]:
        return [n for n in range(len(self.hosts)) if n in {0, len(self.hosts) - 1} or self.scenario.proxy]

    def execute(self) -> None:
        with self._exit:
            self._build()
            self._start_servers()
            for number in self._ends():
                self._start_script(number, "sockets.py", str(self.folder / f"sockets{number}.log"))
            for point in self.scenario.points:
                self._start_tcpdump(point)
            self._drive_client()

    def _build(self) -> None:
        for host in self.hosts:
            _do("ip", "netns", "add", host)
            self._exit.callback(_do, "ip", "netns", "del", host)
            within(host, "sysctl", "-qw", *_SYSCTLS)
            within(host, "ip", "link", "set", "lo", "up")
        for number, link in enumerate(self.scenario.links):
            near, far = self.hosts[number : number + 2]
            near_name = "eth0" if number == 0 else "eth1"
            self._lay(number, link, near, near_name, far)
            for host, name, end in ((near, near_name, 1), (far, "eth0", 2)):
                within(host, "ip", "addr", "add", f"10.9.{number}.{end}/24", "dev", name)
                within(host, "ip", "link", "set", name, "up")
                if link.kind == "veth" and link.rate_mbit:
                    within(host, *_shaping(name, link.rate_mbit, link.queue_packets))
        self._route()

    def _lay(self, number: int, link: Link, near: str, near_name: str, far: str) -> None:
        if link.kind == "veth":
            _do(*f"ip link add {near_name} netns {near} type veth peer name eth0 netns {far}".split())
            if not link.offload:
                for host, name in ((near, near_name), (far, "eth0")):
                    within(host, "ethtool", "-K", name, *(word for what in _OFFLOADS for word in (what, "off")))
            return
        taps = [f"ft{os.getpid() % 100000}{end}{next(_numbers)}" for end in "ab"]
        settings = {**plain(link), "delay_us": link.rtt_ms * 500, "near": taps[0], "far": taps[1]}
        settings["log"] = str(self.folder / f"link{number}.log")
        self._start(None, sys.executable, str(_HERE / "link.py"), json.dumps(settings))
        for tap, host, name in ((taps[0], near, near_name), (taps[1], far, "eth0")):
            _do("ip", "link", "set", tap, "netns", host, "name", name)

    def _route(self) -> None:
        """Set CUBIC on the routes to all neighbours: not every kernel lets a namespace choose its default."""
        last = len(self.scenario.links) - 1
        for number in range(len(self.scenario.links)):
            near_name = "eth0" if number == 0 else "eth1"
            for host, name, end in ((number, near_name, 1), (number + 1, "eth0", 2)):
                to = f"10.9.{number}.0/24 dev {name} src 10.9.{number}.{end} congctl cubic"
                within(self.hosts[host], "ip", "route", "replace", *to.split())
        if last:
            far = f"10.9.{last}.0/24 via 10.9.0.2 congctl cubic"
            back = f"10.9.0.0/24 via 10.9.{last}.1 congctl cubic"
            within(self.hosts[0], "ip", "route", "replace", *far.split())
            within(self.hosts[-1], "ip", "route", "replace", *back.split())

    def _start_servers(self) -> None:
        server = self.scenario.server
        upstream = f"10.9.{len(self.scenario.links) - 1}.2"
        if server.nginx:
            files = proxies.write_files(self.folder, server.sizes)
            configuration = proxies.nginx_of_files(self.folder, files, server.nginx, SERVER_PORT)
            self._start_daemon(-1, proxies.nginx_command(configuration), SERVER_PORT)
        elif server.listens:
            settings = {**plain(server), "port": SERVER_PORT, "seed": self.scenario.name}
            log = str(self.folder / "server.log")
            self._start_script(-1, "server.py", json.dumps(settings), log)
        if self.scenario.proxy:
            command = proxies.command(self.folder, self.scenario.proxy, upstream)
            self._start_daemon(1, command, FRONT_PORT)

    def _start_tcpdump(self, point: str) -> None:
        host, interface = _POINTS[point]
        # A packet occupies the whole snap length in the kernel's buffer.
        options = f"-i {interface} -s 66000 -n -U --immediate-mode -B 65536 -Z root".split()
        command = ["tcpdump", *options, "-w", str(self.capture(point)), "tcp"]
        self._tcpdumps.append(self._start(self.hosts[host], *command, is_ready_on_stderr=True))

    def _drive_client(self) -> None:
        scenario = self.scenario
        host = "10.9.0.2" if scenario.proxy else f"10.9.{len(scenario.links) - 1}.2"
        settings = {**plain(scenario.client), "host": host, "targets": ["/"]}
        settings["port"] = FRONT_PORT if scenario.proxy else SERVER_PORT
        if scenario.server.nginx:
            settings["targets"] = [f"/{size}.bin" for size in scenario.server.sizes]
        command = inside(self.hosts[0], sys.executable, str(_HERE / "client.py"), json.dumps(settings))
        client = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert client.stdin is not None
        assert client.stdout is not None
        try:
            self.transactions = json.loads(client.stdout.readline())
            # The captures must contain the last packets.
            time.sleep(SETTLE_SECONDS + scenario.rtt_ms / 1000)
            self._exit.close()
        finally:
            client.stdin.close()
            client.wait()
            client.stdout.close()

    def _start_script(self, host: int, name: str, *arguments: str) -> None:
        self._start(self.hosts[host], sys.executable, str(_HERE / name), *arguments)

    def _start_daemon(self, host: int, command: list[str], port: int) -> None:
        """Start a server that does not report readiness, and wait until it listens."""
        self._popen(inside(self.hosts[host], *command), self.folder / f"daemon{port}.txt")
        deadline = time.monotonic() + _START_SECONDS
        while not within(self.hosts[host], "ss", "-Hltn", f"sport = :{port}"):
            if time.monotonic() > deadline:
                raise RuntimeError((self.folder / f"daemon{port}.txt").read_text())
            time.sleep(0.02)

    def _start(self, host: str | None, *command: str, is_ready_on_stderr: bool = False) -> Path:
        """Start a program and wait until it is ready; return its output file."""
        path = self.folder / f"process{next(_numbers)}.txt"
        process = self._popen(inside(host, *command) if host else list(command), path)
        deadline = time.monotonic() + _START_SECONDS
        word = "listening on" if is_ready_on_stderr else "ready"
        while word not in path.read_text():
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"{command[0]}: {path.read_text()}")
            time.sleep(0.01)
        return path

    def _popen(self, command: list[str], output: Path) -> subprocess.Popen[bytes]:
        with output.open("wb") as file:
            process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT)
        self._exit.callback(_stop, process)
        return process


def run(scenario: Scenario) -> tuple[Run, tempfile.TemporaryDirectory[str]]:
    """Run a scenario; its files last as long as the given folder."""
    folder = tempfile.TemporaryDirectory(prefix="field-")
    Path(folder.name).chmod(0o755)
    done = Run(scenario, Path(folder.name))
    done.execute()
    return done, folder


def _stop(process: subprocess.Popen[bytes]) -> None:
    process.send_signal(signal.SIGTERM)
    try:
        process.wait(timeout=_START_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _shaping(name: str, rate_mbit: float, queue_packets: int) -> list[str]:
    limit = queue_packets * 1514
    return f"tc qdisc add dev {name} root tbf rate {rate_mbit}mbit burst 64kb limit {limit}".split()


def inside(host: str, *command: str) -> list[str]:
    return ["ip", "netns", "exec", host, *command]


def within(host: str, *command: str) -> str:
    return _do(*inside(host, *command))


def _do(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(command)}: {done.stderr}")
    return done.stdout

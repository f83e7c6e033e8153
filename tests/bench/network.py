"""Two network namespaces, server and client, for the benchmark's captures."""

from __future__ import annotations

import contextlib
import os
import subprocess
from typing import TYPE_CHECKING, Final

from tests.bench.loads import CLIENT, SERVER

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.bench.loads import Load

__all__ = ["call", "network"]

_CARD: Final = "eth0"
_OFFLOADS: Final = ("tso", "off", "gso", "off", "gro", "off")


@contextlib.contextmanager
def network(load: Load) -> Iterator[tuple[str, str]]:
    """Yield the namespaces of server and client, joined as the load requires."""
    server, client, switch = (f"bench-{end}-{os.getpid()}" for end in ("server", "client", "switch"))
    with contextlib.ExitStack() as stack:
        for namespace in (server, client, switch):
            call("ip", "netns", "add", namespace)
            stack.callback(call, "ip", "netns", "del", namespace)
        if load.bottleneck:
            _join_by_switch(server, client, switch, load.bottleneck)
        else:
            _join((server, _CARD), (client, _CARD))
        for namespace, address in ((server, SERVER), (client, CLIENT)):
            inside = ("ip", "-n", namespace)
            call(*inside, "addr", "add", f"{address}/24", "dev", _CARD)
            call(*inside, "link", "set", _CARD, "gso_max_segs", "1")
            call("ip", "netns", "exec", namespace, "ethtool", "-K", _CARD, *_OFFLOADS)
            call("tc", "-n", namespace, *f"qdisc add dev {_CARD} root tbf {load.shaping}".split())
        ports = "net.ipv4.ip_local_port_range=1024 65000"
        call("ip", "netns", "exec", client, "sysctl", "-q", "-w", ports)
        yield server, client


def _join_by_switch(server: str, client: str, switch: str, bottleneck: str) -> None:
    """Join both hosts by a switch: a sender does not learn of drops in the switch's queue."""
    inside = ("ip", "-n", switch)
    call(*inside, "link", "add", "br0", "type", "bridge")
    call(*inside, "link", "set", "br0", "up")
    for port, namespace in (("server", server), ("client", client)):
        _join((namespace, _CARD), (switch, port))
        call(*inside, "link", "set", port, "master", "br0")
        call("tc", "-n", switch, *f"qdisc add dev {port} root tbf {bottleneck}".split())


def _join(*ends: tuple[str, str]) -> None:
    """Join two network interfaces, each in its namespace, by a cable."""
    (near, near_card), (far, far_card) = ends
    cable = f"ip link add {near_card} netns {near} type veth peer name {far_card} netns {far}"
    call(*cable.split())
    for namespace, card in ends:
        call("ip", "-n", namespace, "link", "set", card, "up")
        # By flow: packets of a flow that arrive on two processors are reordered, unlike on a cable.
        steering = f"echo 3 > /sys/class/net/{card}/queues/rx-0/rps_cpus"
        call("ip", "netns", "exec", namespace, "sh", "-c", steering)


def call(*command: str, env: dict[str, str] | None = None) -> str:
    """Return a program's standard output; a failure ends the benchmark."""
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=env)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: {done.stderr or done.stdout}")
    return done.stdout

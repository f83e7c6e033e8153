"""Scenario of FTP files: the path, the stacks of both ends, and the transfer of the files.

Theory of operation. FTP has no transactions: the files are the data connections of one control connection
(:mod:`tcptrace_http.transfers`). In active mode the server opens them. Their packets are reversed here, so
that "to the client" is the direction of the files. The round trip comes from the control connection's
handshake, the rate from the data. Runs decide what no packet shows: similar stacks, and whether each command
waits for its reply. The candidate whose data passes nearest to the captured times is taken.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import accumulate, product
from statistics import fmean
from typing import TYPE_CHECKING, Any, Final

from reference_sim.networks import path
from reference_sim.scenario import Record, Scenario, Transfer
from reference_sim.simulation import simulate
from reference_sim.topology import PacketLoss
from reference_sim.workloads import tap_at
from tcptrace_http.errors import ScenarioError
from tcptrace_http.inference.figure import Figure, assumed, seen
from tcptrace_http.inference.infer import Inference
from tcptrace_http.inference.observe import captured_packets, physical
from tcptrace_http.inference.observed import Observed
from tcptrace_http.inference.packets import Packet
from tcptrace_http.inference.part import MOST_SEGMENTS
from tcptrace_http.inference.rate import bottleneck_rate
from tcptrace_http.inference.round_trip import propagation, round_trip
from tcptrace_http.inference.stacks import nearest, options, stack_figure, with_options
from tcptrace_http.inference.synthesis import is_alike

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import polars as pl

    from reference_sim.stack import Stack
    from tcptrace_http.analysis import Analysis
    from tcptrace_http.inference.stacks import Options

__all__ = ["infer_files"]

#: Mode in which the server opens the data connections (RFC 959, section 3.2).
_ACTIVE: Final = "active"
#: Maximum distance of a meaningful run, as a share of the time of all files.
_FAR: Final = 0.05
#: Minimum silence after a flight, as a share of the round trip: the link may spread one flight.
_SILENCE: Final = 0.25
#: Number of the simulator's control connection: its first connection.
_CONTROL: Final = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Files:
    """Captured files of a control connection."""

    control: Observed
    #: Data connections, with the files in direction of the client.
    data: Observed
    #: Flows of the files in order, and their bytes; the last file may be cut.
    flows: tuple[int, ...]
    sizes: tuple[int, ...]
    of_files: int
    #: First capture time of each data packet: (file, end in its stream) to nanoseconds.
    passed: dict[tuple[int, int], int]
    #: True if the server opened the data connections.
    is_active: bool


def infer_files(analysis: Analysis) -> Inference:
    """Return the scenario of the files of the control connection with most files.

    :raises ScenarioError: no FTP file came to the client.
    """
    files = _files(analysis)
    rate = bottleneck_rate(files.data)
    bits = rate.value if isinstance(rate.value, int) and rate.value > 0 else None
    way = propagation(files.control, bits)
    loss = _loss(files.data)
    small = round_trip(files.control)
    window = _first_flight(files, small.value if isinstance(small.value, int) else 0)
    own = {
        "client": _with_window(options(files.control, of_client=True), files.data, of_client=True),
        "server": options(files.control, of_client=False),
    }
    candidates = sorted(
        product(_servers(files, own["server"], window), nearest(own["client"], None), (False, True)),
        # Two similar hosts are assumed equal.
        key=lambda candidate: candidate[0] != candidate[1],
    )
    made = [_scenario(files, own, window, *candidate, bits, way, loss) for candidate in candidates]
    offs = [_off(files, scenario) for scenario, _ in made]
    least = min(offs)
    alike = [number for number, off in enumerate(offs) if is_alike(off, least)]
    chosen = alike[0]
    server, client, waits = candidates[chosen]
    scenario, of_ends = made[chosen]

    def others(part: int) -> tuple[str, ...]:
        names = dict.fromkeys(str(getattr(candidates[number][part], "name", "")) for number in alike)
        return tuple(name for name in names if name != candidates[chosen][part].name)  # type: ignore[union-attr]

    figures = (
        *(small, way, rate, loss, window),
        *(
            stack_figure("server", server.name, others(0), own["server"]),
            stack_figure("client", client.name, others(1), own["client"]),
        ),
        *of_ends,
        _sizes_figure(files),
        _waits_figure(waits, candidates, alike, least),
        assumed("server.processing", 0, reason="a transfer of the simulator answers at once", unit="ns"),
    )
    chance = loss.value if isinstance(loss.value, float) else 0.0
    return Inference(scenario=scenario, figures=figures, chance_of_loss=chance)


def _files(analysis: Analysis) -> _Files:
    import polars as pl

    found = analysis.transfers.filter(pl.col("to_client"))
    if found.is_empty():
        raise ScenarioError("no file by FTP came to its client in this capture: nothing to infer from")
    most = found.group_by("control_flow").len().sort("len", "control_flow", descending=[True, False])
    control = int(most["control_flow"][0])
    rows = found.filter(pl.col("control_flow") == control).sort("start")
    flows = [control, *rows["flow"].to_list()]
    origin = int(analysis.flows.filter(pl.col("flow") == control)["start"].to_physical()[0])
    turned = set(rows.filter(pl.col("mode").cast(pl.String) == _ACTIVE)["flow"].to_list())
    packets = [
        replace(packet, to_client=packet.to_client != (packet.flow in turned))
        for packet in _packets(analysis, flows, origin)
    ]
    of_flows = {
        row["flow"]: _turned(row) if row["flow"] in turned else row
        for row in physical(analysis.flows.filter(pl.col("flow").is_in(flows))).to_dicts()
    }
    data = _observed([packet for packet in packets if packet.flow != control], of_flows)
    kept, sizes = _modelled(rows, data)
    return _Files(
        control=_observed([packet for packet in packets if packet.flow == control], of_flows),
        data=data,
        flows=kept,
        sizes=sizes,
        of_files=rows.height,
        passed=_passed(data, kept, sizes),
        is_active=bool(turned),
    )


def _packets(analysis: Analysis, flows: list[int], origin: int) -> Iterator[Packet]:
    rows = captured_packets(analysis, flows, origin).iter_rows()
    return (Packet(*(*row, place)) for place, row in enumerate(rows))


def _turned(row: dict[str, Any]) -> dict[str, Any]:
    """Return the row of a flow with both ends exchanged."""
    turned = {}
    for name, value in row.items():
        for end, other in (("client", "server"), ("server", "client")):
            if name == end or name.startswith(f"{end}_"):
                turned[f"{other}{name.removeprefix(end)}"] = value
                break
            if name.endswith(f"_{end}"):
                turned[f"{name.removesuffix(end)}{other}"] = value
                break
        else:
            turned[name] = value
    return turned


def _observed(packets: list[Packet], flows: dict[int, dict[str, Any]]) -> Observed:
    own = {packet.flow for packet in packets}
    return Observed(
        packets=tuple(replace(packet, place=place) for place, packet in enumerate(packets)),
        visits=(),
        flows={flow: row for flow, row in flows.items() if flow in own},
        profiles={},
        server_software="",
        handshakes={},
        h2_connections={},
    )


def _modelled(rows: pl.DataFrame, data: Observed) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Return the flows and sizes of the files within the segment limit of the runs; the last file is cut there."""
    flows, sizes = rows["flow"].to_list(), rows["bytes"].to_list()
    most = MOST_SEGMENTS * data.segment_bytes(flows[0])
    before = [0, *accumulate(sizes)]
    kept = [
        (flow, min(size, most - start))
        for flow, size, start in zip(flows, sizes, before, strict=False)
        if start < most
    ]
    return tuple(flow for flow, _ in kept), tuple(size for _, size in kept)


def _passed(data: Observed, flows: Sequence[int], sizes: Sequence[int]) -> dict[tuple[int, int], int]:
    """Return the first capture time of each file's data."""
    passed: dict[tuple[int, int], int] = {}
    numbers = {flow: number for number, flow in enumerate(flows)}
    for packet in data.packets:
        number = numbers.get(packet.flow)
        # The first byte of a stream has the number 1.
        end = packet.end - 1
        if number is not None and packet.to_client and packet.payload and end <= sizes[number]:
            passed.setdefault((number, end), packet.time)
    return passed


def _loss(data: Observed) -> Figure:
    """Return the share of retransmitted data packets."""
    sent = [packet for packet in data.packets if packet.to_client and packet.payload]
    again = [packet.frame for packet in sent if packet.is_resent]
    return seen(
        "path.loss",
        len(again) / len(sent),
        frames=again,
        confidence=1.0 if not again else 0.5,
        how=f"{len(again)} of {len(sent)} packets with data were sent again",
    )


def _first_flight(files: _Files, round_trip_ns: int) -> Figure:
    """Return the segments of the first flight: the data that no ACK of the flight can have released.

    The flight is the window if a silence follows it, and otherwise a lower bound.
    """
    name = "server.initial_window"
    told: list[tuple[int, int]] = []
    least = 1
    for flow in files.flows:
        data = [packet for packet in files.data.by_flow[flow] if packet.to_client and packet.payload]
        new = [packet for packet in data if not packet.is_resent]
        flight = [packet for packet in new if packet.time < new[0].time + round_trip_ns]
        least = max(least, len(flight))
        silence = new[len(flight)].time - flight[-1].time if len(flight) < len(new) else 0
        if silence > round_trip_ns * _SILENCE:
            told.append((len(flight), flight[0].frame))
    if not told:
        reason = "no silence followed the first flight of any file"
        return assumed(name, None, low=least, unit="segments", reason=f"{reason}; it is {least} at least")
    counts = [count for count, _ in told]
    value = max(set(counts), key=counts.count)
    return seen(
        name,
        value,
        low=min(counts),
        high=max(counts),
        unit="segments",
        confidence=counts.count(value) / len(counts),
        frames=[frame for count, frame in told if count == value],
        how=f"data before the first that its ACKs released, on {counts.count(value)} of {len(counts)} connections",
    )


def _servers(files: _Files, own: Options, window: Figure) -> list[Stack]:
    """Return the presets with the smallest difference from the server.

    The end that opens a connection receives no ACK of a SYN-ACK, which gives some stacks one more segment.
    """
    plain = nearest(own, window)
    if not files.is_active or not isinstance(window.low, int):
        return plain
    high = window.high + 1 if isinstance(window.high, int) else None
    accepted = nearest(own, replace(window, low=window.low + 1, high=high))
    opened = [stack for stack in accepted if stack.handshake_ack_opens_window]
    return [*opened, *(stack for stack in plain if not stack.handshake_ack_opens_window)] or plain


def _with_window(own: Options, data: Observed, *, of_client: bool) -> Options:
    """Return the options with the maximum window of the data connections, for the receiver of files."""
    return replace(own, window=max(own.window, options(data, of_client=of_client).window))


def _scenario(  # noqa: PLR0913, PLR0917 -- what was measured, and a candidate
    files: _Files,
    own: dict[str, Options],
    window: Figure,
    server: Stack,
    client: Stack,
    waits: bool,
    bits: int | None,
    way: Figure,
    loss: Figure,
) -> tuple[Scenario, list[Figure]]:
    """Return the scenario of a candidate, and the figures of its stacks."""
    sending, of_server = with_options(server, own["server"], window, "server")
    receiving, of_client = with_options(client, own["client"], None, "client")
    delay = way.value if isinstance(way.value, int) else 0
    network = path("inferred", rate=bits, delay=delay // 2, about="inferred from a capture")
    if isinstance(loss.value, float) and loss.value > 0:
        _, back = (link.title for link in network.links)
        network = network.with_link(back, loss=(PacketLoss(rate=loss.value),))
    transfer = Transfer(
        node=network.clients[0],
        stack=receiving,
        server_node=network.servers[0],
        server_stack=sending,
        files=files.sizes,
        control=True,
        waits_for_replies=waits,
    )
    at = tap_at(network, "client" if files.data.is_near_client else "server")
    return Scenario(network=network, transfers=(transfer,), taps=(at,)), [*of_server, *of_client]


def _off(files: _Files, scenario: Scenario) -> float:
    """Return the mean deviation of a run's data, as a share of the time from the first to the last."""
    passed = _of_run(scenario, is_near_client=files.data.is_near_client)
    common = files.passed.keys() & passed.keys()
    if not common:
        return 1.0
    span = max(files.passed.values()) or 1
    return fmean(abs(files.passed[key] - passed[key]) for key in common) / span


def _of_run(scenario: Scenario, *, is_near_client: bool) -> dict[tuple[int, int], int]:
    """Return the first time of each file's data in a run, at the captured end."""
    import polars as pl

    packets = simulate(replace(scenario, taps=(), record=Record(packets=True))).truth.packets
    # The capture begins with the SYN.
    start = int(packets["sent" if is_near_client else "received"].to_physical().min())  # type: ignore[arg-type]
    # In the simulator's active mode, the end that opened a data connection sends the file.
    rows = (
        packets.filter(
            pl.col("connection") != _CONTROL,
            pl.col("side").cast(pl.String) == "client",
            pl.col("payload_bytes") > 0,
            pl.col("received").is_not_null(),
        )
        .select(
            pl.col("connection") - 1,
            pl.col("seq") + pl.col("payload_bytes") - 1,
            (pl.col("received") if is_near_client else pl.col("sent")).to_physical() - start,
        )
        .rows()
    )
    passed: dict[tuple[int, int], int] = {}
    for number, end, time in rows:
        passed.setdefault((number, end), time)
    return passed


def _sizes_figure(files: _Files) -> Figure:
    is_cut = len(files.sizes) < files.of_files
    part = f"the first {len(files.sizes)} of {files.of_files}" if is_cut else f"all {files.of_files}"
    return seen(
        "transfer.files",
        len(files.sizes),
        unit="files",
        confidence=1.0,
        frames=(),
        how=f"data connections of one control connection, {part}: {sum(files.sizes):,} B",
    )


def _waits_figure(
    waits: bool,
    candidates: Sequence[tuple[Stack, Stack, bool]],
    alike: Sequence[int],
    off: float,
) -> Figure:
    others = {candidates[number][2] for number in alike} - {waits}
    how = f"of {len(candidates)} runs the nearest: data {100 * off:.3f} % of the files' time off"
    return seen(
        "transfer.waits_for_replies",
        waits,
        confidence=max(1 - off / _FAR, 0.1) / (1 + len(others)),
        frames=(),
        how=how,
        alternatives=tuple("yes" if other else "no" for other in others),
    )

"""Truth of each kernel capture, derived from its ground-truth sidecar.

Rules
-----
Evidence. A sidecar has two sources. ``observed.gaps`` lists the pauses inside responses in the client's
capture, with the ACK that ended each. ``server_truth_holds`` (servers with a write log) lists the segments sent
more than 2 ms after the application's write. ``delack-stall`` and ``tail-held-rtt`` gaps and ``nagle-or-cork``
holds are stalls. ``rtt-wait`` and ``other`` are not: they are slow start, application pauses and cork timeouts.

Listed in the sidecar, but no stall:

- Holds of a server with TCP_NODELAY or TCP_CORK: the sidecar separates Nagle holds from full windows by the
  segment's length alone.
- The short end of a response to a client with its own buffer size (``rcvbuf``): the receive window may have
  lacked room (a finding there is neither required nor wrong).
- Gaps of a capture with packet loss: a late segment there waited for loss recovery.
- A gap whose releasing ACK was sent after the segment. The same applies to a gap of a server with a write log
  that has no hold there: the server then paused for about an RTT. A finding at either gap is neither required
  nor wrong. A log longer than its list in the sidecar says nothing about unlisted entries.

If the server runs Nagle's algorithm, two more cases are neither required nor wrong. One is an ``other`` gap
whose short segment came an RTT after an ACK. The other is any loss under 3 ms: the sidecars list no shorter
gap, and a hold of one ordinary RTT on a LAN is in neither list.

Detector. A stall is ``short-initial-segment`` if the releasing ACK is the first to cover the response's opening
segment, and that segment is short. Of equally close ACKs, the first that covers a short segment counts, because
only that ACK releases a Nagle hold. Otherwise the stall is ``odd-short-final-segment``, also if the opening
contained part of the body and the released segment its end. In the middle of a response it is
``nagle-delayed-ack`` or ``nagle-hold``. An opening segment is short if it is smaller than an Ethernet segment.
On loopback (MSS 65483), every write() is below the MSS, and a 4 KB opening write is no header flush.

Cause. A ``delack-stall`` is ``stall.nagle_delayed_ack``. A ``tail-held-rtt``, or a visible hold in neither
list, is ``stall.nagle_hold``.

Loss. Three figures bracket the loss: the gap at the client less the segment's own serialization time, the gap
at the server, and the hold in the server's write log. Behind a proxy whose upstream pauses between writes, the
first figure less that pause also counts, because the data did not exist earlier. A finding is right if its loss
is within the tolerance of the bracket. A stall whose lowest figure is within the tolerance of zero may be
found, but need not be (the link was busy with earlier data).

Slow-start restart. Each ``kernel_cwnd_restarts_after_idle`` requires a finding in the following response. Its
loss is the response's duration less its bytes' serialization time; at the server, it appears as whole RTTs. If
the loss is within the tolerance of zero, it was invisible, and a finding with a loss would be wrong.
"""

from __future__ import annotations

import itertools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from .segments import Connection, Response, Segment, read_connections

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["TOLERANCE_MS", "UNLISTED_MS", "Capture", "Stall", "captures_of", "runs_nagle", "truth_of"]

#: Permitted difference between a finding's loss and the true loss.
TOLERANCE_MS: Final = 2.0

#: The inspection behind the sidecars skipped shorter gaps: the sidecars do not cover them.
UNLISTED_MS: Final = 3.0

SHORT_INITIAL: Final = "short-initial-segment"
SHORT_FINAL: Final = "odd-short-final-segment"
MIDDLE: Final = {True: "nagle-delayed-ack", False: "nagle-hold"}
RESTART: Final = "slow-start-restart"
_DELAYED_ACK: Final = "stall.nagle_delayed_ack"
_NAGLE_HOLD: Final = "stall.nagle_hold"
_RESTART_CAUSE: Final = "stall.slow_start_restart"

_OTHER: Final = "other"
_GAP_CAUSES: Final = {"delack-stall": _DELAYED_ACK, "tail-held-rtt": _NAGLE_HOLD}

# Payload of a full Ethernet segment: 1500 bytes less the IPv4 and TCP headers.
_ETHERNET_SEGMENT_BYTES: Final = 1460
# Ethernet, IPv4 and TCP header with the timestamps option.
_HEADER_BYTES: Final = 66
# Server options that disable or override Nagle's algorithm.
_NO_NAGLE_OPTIONS: Final = ("--nodelay", "--cork", "--cork-forget", "--more-forget", "nodelay")
# Servers that set TCP_NODELAY by default.
_NODELAY_SERVERS: Final = ("apache2", "lighttpd")
# A segment arrives at least an RTT of the link after its releasing ACK; the emulator's timer may fire early
# by this much.
_CLOCK_SLACK_MS: Final = 0.2
# The kernel time of a restart comes from a 2 ms poll: the affected response may have begun earlier.
_POLL_SLACK_MS: Final = 10.0
# Segments of one flight are closer together than this share of the RTT.
_FLIGHT_GAP_SHARE: Final = 0.35


@dataclass(frozen=True, slots=True)
class Stall:
    """Stall as seen in this capture; frames are of this file."""

    detector: str
    cause: str | None  #: None: either of Nagle's two
    client_port: int
    first_frame: int
    released_frame: int
    low_ms: float
    high_ms: float
    required: bool
    why: str

    def error_ms(self, lost_ms: float) -> float:
        """Return the signed distance of a loss from the bracket; 0 inside."""
        if lost_ms < self.low_ms:
            return lost_ms - self.low_ms
        return max(0.0, lost_ms - self.high_ms)


@dataclass(frozen=True, slots=True)
class Capture:
    """Capture file, and the sidecar that describes its contents."""

    name: str
    path: Path
    sidecar: dict[str, Any]
    at_server: bool


def captures_of(folder: Path) -> list[Capture]:
    """Return the client-side and server-side captures of the folder, by name."""
    found = []
    for file in sorted(folder.glob("*.json")):
        sidecar = json.loads(file.read_text())
        if not isinstance(sidecar, dict) or "observed" not in sidecar:
            continue
        found.append(Capture(sidecar["name"], folder / sidecar["capture"], sidecar, False))
        if sidecar.get("capture_server_side"):
            path = folder / sidecar["capture_server_side"]
            found.append(Capture(f"{sidecar['name']}.srv", path, sidecar, True))
    return found


def truth_of(capture: Capture) -> list[Stall]:
    """Return the stalls of a capture in frame order."""
    sidecar = capture.sidecar
    port = sidecar["port"]
    client_path = capture.path.parent / sidecar["capture"]
    client = read_connections(client_path, port)
    server = None
    if sidecar.get("capture_server_side"):
        server = read_connections(capture.path.parent / sidecar["capture_server_side"], port)
    scene = _Scene(sidecar, client, server, capture.at_server, runs_nagle(capture))
    stalls = [*scene.nagle_stalls(), *scene.restarts()]
    return sorted(stalls, key=lambda stall: stall.released_frame)


def runs_nagle(capture: Capture) -> bool:
    """Return whether the server's sockets run Nagle's algorithm, by its configuration."""
    server = capture.sidecar.get("server") or {}
    software = server.get("software", "")
    if software.startswith(_NODELAY_SERVERS) or "nodelay=true" in software:
        return False
    if software == "nginx":
        directives = server.get("directives") or {}
        # nginx corks only around sendfile(); data that postpone_output releases is not corked.
        corks = directives.get("tcp_nopush") == "on" and directives.get("sendfile") != "off"
        return directives.get("tcp_nodelay") == "off" and (not corks or directives.get("postpone_output") == 0)
    return not any(option in (server.get("args") or []) for option in _NO_NAGLE_OPTIONS)


@dataclass(slots=True)
class _Scene:
    """Sidecar with the connections of both captures."""

    sidecar: dict[str, Any]
    client: dict[int, Connection]
    server: dict[int, Connection] | None
    at_server: bool
    nagle: bool

    def nagle_stalls(self) -> list[Stall]:
        if self._has_loss() or not self.nagle:
            return []
        holds = self._holds_by_client_frame()
        gaps = self._gaps_by_client_frame()
        return [
            stall
            for client_port, frame in sorted({*gaps, *holds})
            if (
                stall := self._stall(
                    client_port, frame, gaps.get((client_port, frame)), holds.get((client_port, frame))
                )
            )
        ]

    def _stall(
        self, client_port: int, frame: int, gap: dict[str, Any] | None, hold_ms: float | None
    ) -> Stall | None:
        connection = self.client[client_port]
        response = connection.response_of(frame)
        released = _by_frame(connection, frame)
        previous = connection.previous_data(released)
        if response is None or previous is None:
            return None
        shown_ms = released.time_ms - previous.time_ms
        low_ms = max(0.0, shown_ms - self._link_ms(released.bytes))
        figures = [low_ms, shown_ms, *([hold_ms] if hold_ms is not None else [])]
        if (pause_ms := self._upstream_pause_ms()) is not None:
            figures.append(max(0.0, low_ms - pause_ms))
        here = (previous, released)
        if self.server is not None:
            at_server = self._server_pair(client_port, previous, released)
            figures.append(at_server[1].time_ms - at_server[0].time_ms)
            here = at_server if self.at_server else here
        # A hold in the write log is certain; only the gap's ACK was misattributed.
        impossible = (
            hold_ms is None
            and gap is not None
            and (self._left_before_its_ack(gap, released) or self._has_whole_log())
        )
        kind = gap["class"] if gap else "hold"
        return Stall(
            detector=self._detector(connection, response, released, gap),
            cause=_GAP_CAUSES.get(gap["class"]) if gap else _NAGLE_HOLD,
            client_port=client_port,
            first_frame=here[0].frame,
            released_frame=here[1].frame,
            low_ms=min(figures),
            high_ms=max(figures),
            required=min(figures) > TOLERANCE_MS
            and not impossible
            and not (self.sidecar.get("client") or {}).get("rcvbuf")
            and (kind != _OTHER or hold_ms is not None),
            why=kind + (", but nothing held it until its ACK" if impossible else ""),
        )

    def _upstream_pause_ms(self) -> float | None:
        """Return the pause between two writes of the upstream server."""
        upstream = self.sidecar.get("server", {}).get("upstream", [])
        option = "--chunk-gap-ms"
        return float(upstream[upstream.index(option) + 1]) if option in upstream else None

    def _detector(
        self,
        connection: Connection,
        response: Response,
        released: Segment,
        gap: dict[str, Any] | None,
    ) -> str:
        opening = response.opening
        is_short = opening.bytes < min(connection.segment_bytes, _ETHERNET_SEGMENT_BYTES)
        is_last = response.ends_with(released.frame)
        ack = self._releasing_ack(connection, response, released, gap)
        if is_short and self._covered_before(connection, ack) < opening.end and (opening.ends_head or not is_last):
            return SHORT_INITIAL
        return (
            SHORT_FINAL if is_last else MIDDLE[gap is not None and _GAP_CAUSES.get(gap["class"]) == _DELAYED_ACK]
        )

    def _releasing_ack(
        self, connection: Connection, response: Response, released: Segment, gap: dict[str, Any] | None
    ) -> Segment:
        """Return the ACK sent closest to one RTT before the released segment's arrival.

        Of equally close ACKs, an ACK of a short segment wins: the segment more likely waited for this ACK.
        """
        acks = [s for s in connection.segments if not s.from_server and s.frame < released.frame]
        aim = released.time_ms - connection.rtt_ms
        nearest = min(acks, key=lambda ack: abs(ack.time_ms - aim))
        if gap:
            nearest = _by_frame(connection, gap["f_ack"])
        most = abs(nearest.time_ms - aim) + TOLERANCE_MS
        shorts = [
            s.end for s in response.segments if s.bytes < connection.segment_bytes and s.frame < released.frame
        ]
        for ack in acks:
            before = self._covered_before(connection, ack)
            if abs(ack.time_ms - aim) <= most and any(before < end <= ack.ack for end in shorts):
                return ack
        return nearest

    def _covered_before(self, connection: Connection, ack: Segment) -> int:
        earlier = (s.ack for s in connection.segments if not s.from_server and s.frame < ack.frame)
        return max(earlier, default=0)

    def _has_whole_log(self) -> bool:
        """Return whether the sidecar has the complete comparison of the server's write log with its segments."""
        held = self.sidecar.get("server_truth_holds")
        return held is not None and sum(held["count_by_cause"].values()) == len(held["list"])

    def _left_before_its_ack(self, gap: dict[str, Any], released: Segment) -> bool:
        soonest = self.sidecar["link"].get("rtt_ms", 0.0) + self._link_ms(released.bytes)
        return gap["ack_to_next_ms"] < soonest - _CLOCK_SLACK_MS

    def _gaps_by_client_frame(self) -> dict[tuple[int, int], dict[str, Any]]:
        return {
            (gap["cport"], gap["f_next"]): {**gap, "class": kind}
            for kind in (*_GAP_CAUSES, _OTHER)
            for gap in self.sidecar["observed"].get("gaps", {}).get(kind, {}).get("list", [])
            if kind != _OTHER or self._is_after_an_ack(gap)
        }

    def _is_after_an_ack(self, gap: dict[str, Any]) -> bool:
        """Return whether a short segment arrived about an RTT after an ACK."""
        is_short = gap["next_len"] < self.client[gap["cport"]].segment_bytes
        soonest = self.sidecar["link"].get("rtt_ms", 0.0) + self._link_ms(gap["next_len"])
        return is_short and gap["ack_to_next_ms"] < soonest + TOLERANCE_MS

    def _holds_by_client_frame(self) -> dict[tuple[int, int], float]:
        """Return the holds of the server's write log, by the frame in the client's capture."""
        truth = self.sidecar.get("server_truth_holds") or {}
        holds: dict[tuple[int, int], float] = {}
        for hold in truth.get("list", []):
            if hold["cause"] != "nagle-or-cork" or self.server is None:
                continue
            sent = _by_frame(self.server[hold["cport"]], hold["frame_srv"])
            arrived = _same_data(self.client[hold["cport"]], sent)
            if arrived is not None:
                holds[hold["cport"], arrived.frame] = hold["hold_ms"]
        return holds

    def _server_pair(self, client_port: int, previous: Segment, released: Segment) -> tuple[Segment, Segment]:
        assert self.server is not None
        connection = self.server[client_port]
        pair = _same_data(connection, previous), _same_data(connection, released)
        if pair[0] is None or pair[1] is None:
            raise ValueError(f"{self.sidecar['name']}: frame {released.frame} is not in both files")
        return pair[0], pair[1]

    def _has_loss(self) -> bool:
        return bool((self.sidecar.get("emulator") or {}).get("drops"))

    def _link_ms(self, payload_bytes: int) -> float:
        """Return a segment's serialization time on the link from the server, 0 without a rate."""
        link = self.sidecar["link"]
        rate = link.get("rate_down") or link.get("rate")
        return (payload_bytes + _HEADER_BYTES) * 8000 / rate if rate else 0.0

    def restarts(self) -> list[Stall]:
        measured = self.sidecar.get("verdict", {}).get("measured", {})
        found = []
        for restart in measured.get("kernel_cwnd_restarts_after_idle", []):
            client_port = restart["cport"]
            response = self._response_after(client_port, restart["t"] * 1000)
            if response is not None:
                found.append(self._restart(self.client[client_port], response))
        return found

    def _restart(self, connection: Connection, response: Response) -> Stall:
        segments = response.segments
        took_ms = segments[-1].time_ms - segments[0].time_ms
        lost_ms = max(0.0, took_ms - sum(self._link_ms(s.bytes) for s in segments[1:]))
        pauses = sum(
            after.time_ms - before.time_ms > _FLIGHT_GAP_SHARE * connection.rtt_ms
            for before, after in itertools.pairwise(segments)
        )
        first, last = segments[0], segments[-1]
        high_ms = lost_ms
        if self.at_server:
            assert self.server is not None
            here = self.server[connection.client_port]
            first, last = _same_data(here, first) or first, _same_data(here, last) or last
            high_ms = max(lost_ms, pauses * connection.rtt_ms)
        return Stall(
            RESTART,
            _RESTART_CAUSE,
            connection.client_port,
            first.frame,
            last.frame,
            lost_ms,
            high_ms,
            required=lost_ms > TOLERANCE_MS and pauses > 0,
            why=f"cwnd restart, {pauses} more flights",
        )

    def _response_after(self, client_port: int, time_ms: float) -> Response | None:
        """Return the response whose first segment the server sent after the restart."""
        server = (self.server or self.client)[client_port]
        for index, response in enumerate(server.responses):
            if response.segments and response.opening.time_ms >= time_ms - _POLL_SLACK_MS:
                return self.client[client_port].responses[index]
        return None


def _by_frame(connection: Connection, frame: int) -> Segment:
    return next(segment for segment in connection.segments if segment.frame == frame)


def _same_data(connection: Connection, wanted: Segment) -> Segment | None:
    """Return the server's first segment with the same bytes in the capture of the other end."""
    return next(
        (
            segment
            for segment in connection.segments
            if segment.from_server and segment.bytes and segment.seq == wanted.seq
        ),
        None,
    )

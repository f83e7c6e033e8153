"""What distinguishes one TCP implementation from another: the knobs of a stack, as the engine has them.

The named presets, each knob with its source, are in :mod:`reference_sim.stacks`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from reference_sim.document import Duration, Size

__all__ = [
    "AckDelay",
    "AckPolicy",
    "Congestion",
    "DelayTimer",
    "Heartbeat",
    "IdleRestart",
    "InitialWindow",
    "Nagle",
    "QuickAcks",
    "Retransmission",
    "Rfc3390",
    "Rfc6928",
    "Segments",
    "Sharing",
    "SlowStart",
    "Stack",
    "WriterWakes",
]


class Congestion(StrEnum):
    """How a sender's window grows and shrinks."""

    #: Fast retransmit, then slow start from one segment (Jacobson 1988).
    TAHOE = "tahoe"
    #: Fast recovery, left by any new ACK (RFC 2001).
    RENO = "reno"
    #: Reno as ns-2's BayFullTcp has it: duplicate ACKs count during a timeout's repetitions, too;
    #: recovery ends with two segments more than are in flight; each timeout in a row halves anew.
    BAY_RENO = "bay-reno"
    #: Fast recovery that partial ACKs go on with (RFC 6582).
    NEWRENO = "newreno"
    #: RFC 9438; how its slow start ends is ``slow_start``.
    CUBIC = "cubic"
    #: None: always the whole window (the RWBP of a satellite hub).
    FIXED_WINDOW = "fixed-window"


class SlowStart(StrEnum):
    """How the first slow start ends."""

    #: With the first loss (RFC 5681, section 3.1).
    STANDARD = "standard"
    #: Where the round trip grows (RFC 9406).
    HYSTART_PLUS_PLUS = "hystart-plus-plus"


class Nagle(StrEnum):
    """When a segment below the MSS waits for an ACK."""

    OFF = "off"
    #: While anything is unacknowledged (RFC 896).
    BSD = "bsd"
    #: The same, asked of each segment anew: what the same write has sent holds its end back (lwIP's
    #: tcp_do_output_nagle).
    STRICT = "strict"
    #: While a segment below the MSS is unacknowledged (draft-minshall-nagle-01; Linux).
    MINSHALL = "minshall"


class WriterWakes(StrEnum):
    """How much room in a send buffer that was full lets a blocked writer go on."""

    #: Any.
    ANY = "any"
    #: 2048 bytes, or half of a smaller buffer (4.4BSD: sb_lowat).
    LOW_WATER = "low-water"
    #: A third of the buffer (Linux: sk_stream_min_wspace).
    THIRD = "third"


class IdleRestart(StrEnum):
    """What an idle period of more than one timeout does to the congestion window."""

    KEEP = "keep"
    #: Back to the restart window (RFC 5681, section 4.1).
    RESET = "reset"
    #: Half for each timeout that passed (RFC 2861).
    DECAY = "decay"
    #: Kept, and its first flight spread over one round trip (rate-based pacing).
    PACE = "pace"


class Sharing(StrEnum):
    """What connections of one pair of hosts share (RFC 2140; Eggert 1999)."""

    NONE = "none"
    TEMPORAL = "temporal"
    ENSEMBLE = "ensemble"
    ETCP_FAIR = "etcp-fair"
    ETCP_CONTENT_DEPENDENT = "etcp-content-dependent"
    ETCP_TICKET_DECAY = "etcp-ticket-decay"
    ETCP_HTML_PRE = "etcp-html-pre"

    def document(self) -> object:
        """As the engine reads it: E-TCP is a choice with a scheduler of its own."""
        scheduler = self.value.removeprefix("etcp-")
        return self.value if scheduler == self.value else {"etcp": scheduler}


@dataclass(frozen=True, kw_only=True, slots=True)
class Segments:
    """So many segments."""

    kind: ClassVar = "segments"
    segments: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Rfc3390:
    """min(4 MSS, max(2 MSS, 4380)) bytes (RFC 3390; RFC 2414, equation 1 of Kruse 2001)."""

    kind: ClassVar = "rfc3390"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rfc6928:
    """min(10 MSS, max(2 MSS, 14600)) bytes (RFC 6928)."""

    kind: ClassVar = "rfc6928"


InitialWindow = Segments | Rfc3390 | Rfc6928


@dataclass(frozen=True, kw_only=True, slots=True)
class Heartbeat:
    """Until a heartbeat of the whole host, at ``phase`` and every ``period`` (BSD: 200 ms)."""

    kind: ClassVar = "heartbeat"
    period: Duration
    phase: Duration = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class DelayTimer:
    """So long after the data came."""

    kind: ClassVar = "timer"
    delay: Duration


AckDelay = Heartbeat | DelayTimer


@dataclass(frozen=True, kw_only=True, slots=True)
class QuickAcks:
    """Linux: so many segments at once at a start, afterwards delayed only in "ping-pong" mode."""

    segments: int
    #: A pause in sending longer than this leaves ping-pong mode.
    pingpong_timeout: Duration


@dataclass(frozen=True, kw_only=True, slots=True)
class AckPolicy:
    """When a receiver acknowledges data in order; out of order and filling data always at once."""

    #: Data in this many segments' bytes is acknowledged at once (RFC 5681, section 4.2: 2).
    every: int
    #: Whether ``every`` counts segments of any size, or bytes against the segment size.
    counts_segments: bool
    delay: AckDelay
    #: The first bytes of a connection are acknowledged at once.
    at_once_bytes: Size = 0
    #: As many bytes are again after each segment that came out of order (ns-2's BayFullTcp).
    at_once_after_loss: bool = False
    quick_acks: QuickAcks | None = None
    #: A segment with PSH is acknowledged at once.
    on_push: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Retransmission:
    """The retransmission timer and the other signs of loss."""

    #: Before a round trip is known (RFC 6298, rule 2.1).
    initial: Duration
    min: Duration
    max: Duration
    #: ``min`` is the least of what is added to the smoothed round trip (Linux's
    #: tcp_rtt_estimator), not the least timeout.
    min_is_spread: bool = False
    #: Granularity of the stack's clock, in which round trips are counted; 0: none.
    tick: Duration
    #: Timeouts come at whole ticks of the host's clock, as BSD's slow timer does.
    on_ticks: bool = False
    duplicate_ack_threshold: int = 3
    #: The way of each ACK is taken for the round trip, not that of the segment (ns-2's BayFullTcp).
    times_acks: bool = False
    #: The estimate is kept in integers of ticks: eighths, and quarters for the deviation
    #: (Jacobson 1988, appendix A; ns-2).
    fixed_point: bool = False
    #: A fast retransmit doubles the timeout (ns-2's BayFullTcp).
    fast_retransmit_backs_off: bool = False
    #: A timeout of a SYN.
    syn_initial: Duration
    max_retries: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Stack:
    """A TCP implementation as the choices that show on the wire. Bytes are payload bytes."""

    name: str
    #: Largest payload it takes in a segment, options aside (RFC 9293, section 3.7.1).
    mss: int
    #: Whether SYNs carry the MSS option; otherwise the peer takes this stack's ``mss`` unasked.
    mss_option: bool = True
    #: Shift of the window scale option, None if it is not offered (RFC 7323, section 2).
    window_scale: int | None = None
    #: Timestamps option (RFC 7323, section 3): 12 bytes of every segment.
    timestamps: bool = False
    #: Selective acknowledgments (RFC 2018, RFC 6675).
    sack: bool = False
    receive_buffer: Size
    #: Data written and not yet acknowledged is at most this much; a writer waits for room.
    send_buffer: Size
    #: Bound on data in flight whatever the windows say (the ``window_`` of ns-2).
    max_window_segments: int | None = None
    congestion: Congestion
    slow_start: SlowStart = SlowStart.STANDARD
    initial_window: InitialWindow
    #: Initial slow-start threshold; None: unlimited (RFC 5681, section 3.1).
    initial_ssthresh_segments: int | None = None
    #: The ACK of a SYN-ACK opens the window of the passive end by one segment.
    handshake_ack_opens_window: bool = False
    acks: AckPolicy
    nagle: Nagle
    retransmission: Retransmission
    #: RACK-like and tail-loss-probe timers (RFC 8985), and D-SACK (RFC 2883).
    tail_loss_probe: bool = False
    #: With SACK: the congestion window counts segments of any size (Linux), not bytes.
    window_in_segments: bool = False
    #: New data on the first two duplicate ACKs (RFC 3042).
    limited_transmit: bool = False
    idle_restart: IdleRestart
    #: All new data is paced at a multiple of the window per round trip (Linux with fq).
    rate_pacing: bool = False
    #: The client's first data rides on the ACK that ends the handshake.
    data_on_handshake_ack: bool = False
    #: The application sees data before an ACK of it leaves, so that an answer made in no time
    #: carries the ACK (ns-2's upcalls).
    upcall_before_ack: bool = False
    #: Connections that it opens then send their SYNs before that ACK, too (ns-2's FullTcp and BayFullTcp).
    upcall_opens_before_ack: bool = False
    #: A write reaches TCP in pieces of so many bytes, and TCP may send after each (4.4BSD's
    #: sosend); None: the whole write at once.
    write_step_bytes: int | None = None
    writer_wakes: WriterWakes = WriterWakes.ANY
    #: A FIN rides on the last data if both are ready; else it goes alone, once all is acknowledged.
    fin_with_data: bool = True
    #: A FIN that was sent once rides on every ACK without data, also when data before it has to go out
    #: again; the peer answers it with its own, and if data is sent behind that, this end never closes
    #: (ns-2's BayFullTcp, whose server then takes no other connection of this client).
    fin_on_bare_acks: bool = False
    #: T/TCP: data and FIN may ride on the SYN once the server is known (RFC 1644).
    accelerated_open: bool = False
    sharing: Sharing = Sharing.NONE
    #: How long the side that closed first remembers the connection.
    time_wait: Duration

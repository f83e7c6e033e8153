"""Knobs of a TCP implementation, as the engine has them.

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
    """Congestion control algorithm."""

    #: Fast retransmit, then slow start from one segment (Jacobson 1988).
    TAHOE = "tahoe"
    #: Fast recovery, ended by any new ACK (RFC 2001).
    RENO = "reno"
    #: Reno of ns-2's BayFullTcp. Duplicate ACKs also count after a timeout. Recovery ends with two segments
    #: above the flight size. Each consecutive timeout halves ssthresh again.
    BAY_RENO = "bay-reno"
    #: Fast recovery that continues after partial ACKs (RFC 6582).
    NEWRENO = "newreno"
    #: CUBIC (RFC 9438); ``slow_start`` selects the end of slow start.
    CUBIC = "cubic"
    #: BBR, version 1: a model of the path sets pacing rate and cwnd
    #: (draft-cardwell-iccrg-bbr-congestion-control-00).
    BBR = "bbr"
    #: No congestion control: the whole receive window (the RWBP of a satellite hub).
    FIXED_WINDOW = "fixed-window"


class SlowStart(StrEnum):
    """End of the initial slow start."""

    #: First loss (RFC 5681, section 3.1).
    STANDARD = "standard"
    #: RTT increase: HyStart++ (RFC 9406).
    HYSTART_PLUS_PLUS = "hystart-plus-plus"


class Nagle(StrEnum):
    """Nagle variant: when a segment below the MSS waits for an ACK."""

    OFF = "off"
    #: While any data is unacknowledged (RFC 896).
    BSD = "bsd"
    #: Nagle per segment: earlier segments of a write hold back its tail (lwIP's tcp_do_output_nagle).
    STRICT = "strict"
    #: While a segment below the MSS is unacknowledged (draft-minshall-nagle-01; Linux).
    MINSHALL = "minshall"


class WriterWakes(StrEnum):
    """Free space of a full send buffer that wakes a blocked writer."""

    #: Any free space.
    ANY = "any"
    #: 2048 bytes, or half of a smaller buffer (4.4BSD: sb_lowat).
    LOW_WATER = "low-water"
    #: A third of the buffer (Linux: sk_stream_min_wspace).
    THIRD = "third"


class IdleRestart(StrEnum):
    """Effect of an idle period longer than one RTO on cwnd."""

    KEEP = "keep"
    #: Reset to the restart window (RFC 5681, section 4.1).
    RESET = "reset"
    #: Halved per elapsed RTO (RFC 2861).
    DECAY = "decay"
    #: Kept; the first flight is paced over one RTT (rate-based pacing).
    PACE = "pace"


class Sharing(StrEnum):
    """State shared by connections between the same two hosts (RFC 2140; Eggert 1999)."""

    NONE = "none"
    TEMPORAL = "temporal"
    ENSEMBLE = "ensemble"
    ETCP_FAIR = "etcp-fair"
    ETCP_CONTENT_DEPENDENT = "etcp-content-dependent"
    ETCP_TICKET_DECAY = "etcp-ticket-decay"
    ETCP_HTML_PRE = "etcp-html-pre"

    def document(self) -> object:
        """Return the engine's form: E-TCP is a choice with its own scheduler."""
        scheduler = self.value.removeprefix("etcp-")
        return self.value if scheduler == self.value else {"etcp": scheduler}


@dataclass(frozen=True, kw_only=True, slots=True)
class Segments:
    """Initial window in segments."""

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
    """Delay until the next tick of a host-wide heartbeat, at ``phase`` and every ``period`` (BSD: 200 ms)."""

    kind: ClassVar = "heartbeat"
    period: Duration
    phase: Duration = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class DelayTimer:
    """Delay after the data's arrival."""

    kind: ClassVar = "timer"
    delay: Duration


AckDelay = Heartbeat | DelayTimer


@dataclass(frozen=True, kw_only=True, slots=True)
class QuickAcks:
    """Linux: immediate ACKs for a number of initial segments (quickack), then delay only in ping-pong mode."""

    segments: int
    #: A longer pause in sending ends ping-pong mode.
    pingpong_timeout: Duration


@dataclass(frozen=True, kw_only=True, slots=True)
class AckPolicy:
    """ACK policy for in-order data. Out-of-order and hole-filling data is acknowledged at once."""

    #: Unacknowledged data of this many segments triggers an ACK (RFC 5681, section 4.2: 2).
    every: int
    #: ``every`` counts segments of any size; otherwise bytes against the segment size.
    counts_segments: bool
    delay: AckDelay
    #: Initial bytes of a connection that are acknowledged at once.
    at_once_bytes: Size = 0
    #: The same number of bytes is acknowledged at once after each out-of-order segment (ns-2's BayFullTcp).
    at_once_after_loss: bool = False
    quick_acks: QuickAcks | None = None
    #: A segment with PSH is acknowledged at once.
    on_push: bool = False


@dataclass(frozen=True, kw_only=True, slots=True)
class Retransmission:
    """Retransmission timer and other loss detection."""

    #: RTO before the first RTT sample (RFC 6298, rule 2.1).
    initial: Duration
    min: Duration
    max: Duration
    #: ``min`` is the minimum of the variance term added to the smoothed RTT (Linux's tcp_rtt_estimator), not the
    #: minimum RTO.
    min_is_spread: bool = False
    #: Clock granularity of RTT measurements; 0: exact.
    tick: Duration
    #: Timeouts fire at whole ticks of the host's clock (BSD's slow timer).
    on_ticks: bool = False
    duplicate_ack_threshold: int = 3
    #: The one-way delay of each ACK is taken as the RTT (ns-2's BayFullTcp).
    times_acks: bool = False
    #: The estimate is kept in integer ticks: eighths, and quarters for the deviation (Jacobson 1988, appendix
    #: A; ns-2).
    fixed_point: bool = False
    #: A fast retransmit doubles the RTO (ns-2's BayFullTcp).
    fast_retransmit_backs_off: bool = False
    #: RTO of a SYN.
    syn_initial: Duration
    max_retries: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Stack:
    """TCP implementation as the choices visible on the wire. Bytes are payload bytes."""

    name: str
    #: Largest payload accepted per segment, without options (RFC 9293, section 3.7.1).
    mss: int
    #: SYNs carry the MSS option; otherwise the peer assumes this stack's ``mss``.
    mss_option: bool = True
    #: Shift of the window scale option, None if not offered (RFC 7323, section 2).
    window_scale: int | None = None
    #: Timestamps option (RFC 7323, section 3): 12 bytes per segment.
    timestamps: bool = False
    #: Selective acknowledgments (RFC 2018, RFC 6675).
    sack: bool = False
    receive_buffer: Size
    #: The receive window grows by autotuning with the data read per RTT, at most to the receive buffer
    #: (Linux).
    receive_autotuning: bool = False
    #: Send buffer: limit on data written but not acknowledged. A writer waits for free space.
    send_buffer: Size
    #: Upper bound on bytes in flight, independent of the windows (the ``window_`` of ns-2).
    max_window_segments: int | None = None
    congestion: Congestion
    slow_start: SlowStart = SlowStart.STANDARD
    initial_window: InitialWindow
    #: Initial slow-start threshold; None: unlimited (RFC 5681, section 3.1).
    initial_ssthresh_segments: int | None = None
    #: The ACK of the SYN-ACK adds one segment to the passive end's cwnd.
    handshake_ack_opens_window: bool = False
    acks: AckPolicy
    nagle: Nagle
    retransmission: Retransmission
    #: RACK-like and tail-loss-probe timers (RFC 8985), and D-SACK (RFC 2883).
    tail_loss_probe: bool = False
    #: With SACK: cwnd counts segments of any size (Linux), not bytes.
    window_in_segments: bool = False
    #: New data on the first two duplicate ACKs (RFC 3042).
    limited_transmit: bool = False
    idle_restart: IdleRestart
    #: Maximum window after an idle period, in segments; None: as ``idle_restart`` leaves it.
    restart_cap_segments: int | None = None
    #: Queues may mark packets instead of dropping them (RFC 3168).
    ecn: bool = False
    #: New data is paced at a multiple of cwnd per RTT (Linux with fq).
    rate_pacing: bool = False
    #: The client's first data travels with the last ACK of the handshake.
    data_on_handshake_ack: bool = False
    #: The application reads data before its ACK is sent. An immediate response then carries the ACK (ns-2's
    #: upcalls).
    upcall_before_ack: bool = False
    #: The SYNs of connections that the application then opens also precede that ACK (ns-2's FullTcp and
    #: BayFullTcp).
    upcall_opens_before_ack: bool = False
    #: A write reaches TCP in chunks of this many bytes, and TCP may send after each chunk (4.4BSD's sosend).
    #: None: the whole write at once.
    write_step_bytes: int | None = None
    writer_wakes: WriterWakes = WriterWakes.ANY
    #: The FIN travels with the last data if both are ready; otherwise it follows the last ACK.
    fin_with_data: bool = True
    #: After its first transmission, a FIN is set on every ACK without data, even while earlier data is
    #: retransmitted. The peer answers with its own FIN. If data follows that FIN, this end never closes
    #: (ns-2's BayFullTcp, whose server then accepts no other connection of this client).
    fin_on_bare_acks: bool = False
    #: T/TCP: the SYN may carry data and FIN once the server is known (RFC 1644).
    accelerated_open: bool = False
    #: TCP Fast Open: the SYN carries the first data to a server that gave a cookie (RFC 7413).
    fast_open: bool = False
    sharing: Sharing = Sharing.NONE
    #: A cached window is halved per elapsed RTT (Eggert 1999, section 7.4).
    ages_shared_state: bool = False
    #: E-TCP: a single packet skipped by ACKs may wait for a delayed ACK, and indicates no loss (TCP-INT).
    expects_delayed_acks: bool = False
    #: TIME-WAIT duration of the end that closed first.
    time_wait: Duration

"""Presets of TCP implementations, each knob with its source.

>>> from reference_sim.stacks import stack
>>> stack("sunos-4.1.3").nagle
<Nagle.BSD: 'bsd'>

Derive a custom stack with :func:`dataclasses.replace`.
"""

from __future__ import annotations

from dataclasses import fields, replace
from typing import TYPE_CHECKING, Final

from reference_sim.modern_stacks import modern
from reference_sim.names import named
from reference_sim.preset import Preset
from reference_sim.stack import (
    AckPolicy,
    Congestion,
    DelayTimer,
    Heartbeat,
    IdleRestart,
    Nagle,
    QuickAcks,
    Retransmission,
    Rfc3390,
    Segments,
    Sharing,
    Stack,
    WriterWakes,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PRESETS", "knobs_of", "stack"]

_MS: Final = 10**6
_S: Final = 10**9
_KIB: Final = 1 << 10
_MIB: Final = 1 << 20
# Larger than any transfer of the papers: the sender never waits for buffer space, as in ns-2.
_UNBOUNDED_BUFFER: Final = 1 << 30
# Largest window without scaling (RFC 9293, section 3.1).
_LARGEST_UNSCALED_WINDOW: Final = 65_535


# BSD's retransmission timer: 500 ms slow timer (PR_SLOWHZ 2), 6 s before the first RTT sample
# (TCPTV_SRTTDFLT: srtt 0, rttvar 3 s, twice that), at least two ticks (TCPTV_MIN) and at most 64 s
# (TCPTV_REXMTMAX), 12 retransmissions (TCP_MAXRXTSHIFT). Source: Stevens 1995, volume 2, chapter 25.
_BSD_RETRANSMISSION: Final = Retransmission(
    initial=6 * _S, min=1 * _S, max=64 * _S, tick=500 * _MS, on_ticks=True, syn_initial=6 * _S, max_retries=12
)
_BSD_RETRANSMISSION_SOURCE: Final = (
    "Stevens, TCP/IP Illustrated 2, 25.3: PR_SLOWHZ 2, first timeout 6 s, TCPTV_MIN, TCPTV_REXMTMAX"
)
# 200 ms heartbeat (PR_FASTHZ 5) of the whole host; its phase relative to a run is a parameter.
_BSD_HEARTBEAT: Final = Heartbeat(period=200 * _MS)
# "30 seconds for MSL": 2 MSL in BSD (TCPTV_MSL).
_BSD_TIME_WAIT: Final = 60 * _S

# RFC 2988: 3 s before the first RTT sample, at least 1 s, at most 60 s or more.
_RFC2988_RETRANSMISSION: Final = Retransmission(
    initial=3 * _S, min=1 * _S, max=64 * _S, tick=0, syn_initial=3 * _S, max_retries=12
)
_RFC6298_RETRANSMISSION: Final = replace(_RFC2988_RETRANSMISSION, initial=1 * _S, syn_initial=1 * _S)

_RENO: Final = Preset(
    stack=Stack(
        name="reno",
        mss=1460,
        receive_buffer=_LARGEST_UNSCALED_WINDOW,
        send_buffer=_LARGEST_UNSCALED_WINDOW,
        congestion=Congestion.RENO,
        initial_window=Segments(segments=1),
        acks=AckPolicy(every=2, counts_segments=True, delay=DelayTimer(delay=200 * _MS)),
        nagle=Nagle.BSD,
        retransmission=_RFC2988_RETRANSMISSION,
        idle_restart=IdleRestart.RESET,
        time_wait=_BSD_TIME_WAIT,
    ),
    about="Textbook Reno: slow start from one segment, fast retransmit, fast recovery; no options but the MSS",
    source={
        "*": "RFC 2001, RFC 2581: the Reno of the papers, nothing that a later RFC added",
        "mss": "1500 bytes of Ethernet less 40 of headers",
        "receive_buffer": "the largest window without scaling (RFC 9293, section 3.1)",
        "send_buffer": "as the receive buffer",
        "initial_window": "RFC 2001, section 1: one segment",
        "acks": "RFC 1122, section 4.2.3.2: every second segment, within 500 ms; 200 ms as BSD",
        "nagle": "RFC 896; RFC 1122, section 4.2.3.4",
        "retransmission": "RFC 2988: 3 s at first, at least 1 s",
        "idle_restart": "RFC 2581, section 4.1",
    },
)

_NEWRENO: Final = _RENO.but(
    "newreno",
    "NewReno as the RFCs of 2012 have it: partial ACKs, limited transmit, larger first window",
    {
        "congestion": "RFC 6582",
        "initial_window": "RFC 3390",
        "limited_transmit": "RFC 3042",
        "retransmission": "RFC 6298: 1 s at first and at least",
    },
    congestion=Congestion.NEWRENO,
    initial_window=Rfc3390(),
    limited_transmit=True,
    retransmission=_RFC6298_RETRANSMISSION,
)

_FULLTCP_NS: Final = Preset(
    stack=Stack(
        name="fulltcp-ns",
        mss=1460,
        mss_option=False,
        receive_buffer=_LARGEST_UNSCALED_WINDOW,
        send_buffer=_UNBOUNDED_BUFFER,
        max_window_segments=14,
        congestion=Congestion.TAHOE,
        initial_window=Segments(segments=1),
        initial_ssthresh_segments=14,
        acks=AckPolicy(every=1, counts_segments=False, delay=Heartbeat(period=100 * _MS)),
        nagle=Nagle.OFF,
        retransmission=Retransmission(
            initial=6 * _S,
            min=200 * _MS,
            max=60 * _S,
            tick=100 * _MS,
            fixed_point=True,
            syn_initial=6 * _S,
            max_retries=12,
        ),
        idle_restart=IdleRestart.KEEP,
        upcall_before_ack=True,
        upcall_opens_before_ack=True,
        fin_with_data=False,
        time_wait=0,
    ),
    about="FullTcp/Tahoe of ns-2.35, with the parameters of the thesis",
    source={
        "*": "ns-2.35, tcp-full.cc",
        "mss": "Gürkan 1998, section 4.1: segments of 1460 bytes",
        "mss_option": "ns-2: headers of 40 bytes, no options",
        "receive_buffer": "ns-2 offers no window; max_window_segments bounds the flight",
        "send_buffer": "ns-2 has none",
        "max_window_segments": "window_; 14 fitted to the thesis's tables (13 to 15 tie), not printed in it",
        "congestion": 'Gürkan 1998, section 4.1: "a dropped packet causes the window size to shrink back to 1"',
        "initial_window": "Gürkan 1998, section 4.1: 1 packet (2 and 3 in section 4.7)",
        "initial_ssthresh_segments": "ns-2, tcp.cc, reset: window_",
        "acks": "segsperack_ 1: at 1460 bytes unacknowledged, else on a 0.1 s grid (interval_)",
        "nagle": "nodelay_: with Nagle the thesis's pipelined rate at 8/0 would lose 25 %",
        "retransmission": "tcpTick_ 0.1 s, rtxcur_init_ 6 s, minrto_ 0.2 s, maxrto_ 60 s; rtt_update: integers",
        "idle_restart": "Gürkan 1998, section 4.5: the window at the end of the idle period is that at its start",
        "upcall_before_ack": "ns-2 calls the application when data comes, and then acknowledges",
        "upcall_opens_before_ack": "ns-2: an agent sends its SYN in the call that gives it data",
        "time_wait": "ns-2: a closed agent is done",
    },
)

_TAHOE_NS: Final = _FULLTCP_NS.but(
    "tahoe-ns",
    "The TCP of the thesis: BayFullTcp of ns (the contributed code that it names as its base)",
    {
        "congestion": "ns-2.35, tcp-full-bay.cc: Reno alone, one segment after a timeout; Gürkan 1998, "
        'section 4.1: "a dropped packet causes the window size to shrink back to 1"',
        "acks": "tcp-full-bay.cc, need_send: at once for the first 16 kB of a connection and after each "
        "segment out of order, then at two segments' bytes",
        "retransmission": "tcpTick_ 0.1 s, rtxcur_init_ 6 s, minrto_ 0.2 s, maxrto_ 60 s; tcp-full-bay.cc, "
        "newack: the way of the ACK is the round trip; fast_retransmit: the timeout doubles",
        "data_on_handshake_ack": "BayFullTcp: the request rides on the third packet of the handshake",
        "fin_with_data": "BayFullTcp: the FIN rides on the last data segment",
    },
    congestion=Congestion.BAY_RENO,
    acks=AckPolicy(
        every=2,
        counts_segments=False,
        delay=Heartbeat(period=100 * _MS),
        at_once_bytes=16 * _KIB,
        at_once_after_loss=True,
    ),
    retransmission=replace(_FULLTCP_NS.stack.retransmission, times_acks=True, fast_retransmit_backs_off=True),
    data_on_handshake_ack=True,
    fin_with_data=True,
)

_SUNOS: Final = Preset(
    stack=Stack(
        name="sunos-4.1.3",
        mss=1460,
        receive_buffer=16 * _KIB,
        send_buffer=16 * _KIB,
        congestion=Congestion.TAHOE,
        initial_window=Segments(segments=1),
        handshake_ack_opens_window=True,
        acks=AckPolicy(every=2, counts_segments=False, delay=_BSD_HEARTBEAT),
        nagle=Nagle.BSD,
        retransmission=_BSD_RETRANSMISSION,
        idle_restart=IdleRestart.KEEP,
        writer_wakes=WriterWakes.LOW_WATER,
        time_wait=_BSD_TIME_WAIT,
    ),
    about="SunOS 4.1.3 of Heidemann: 4.3BSD-Tahoe's TCP with 16 kB windows, slow start also on the LAN",
    source={
        "*": "Heidemann 1996, section 2.1 and its printed traces",
        "mss": "Heidemann 1996, Figure 2: mss 1460",
        "receive_buffer": "Heidemann 1996, section 2.1: 16 kB; Figure 2: win 16384",
        "send_buffer": "as the receive buffer",
        "congestion": "SunOS 4.1 is derived from 4.3BSD-Tahoe (Paxson 1997)",
        "initial_window": "Jacobson 1988",
        "handshake_ack_opens_window": "Heidemann 1996, footnote 1: the reply starts with two segments",
        "acks": "BSD: when the window can slide by two segments' bytes, else with the 200 ms heartbeat; "
        "Figure 2: 226 + 1460 bytes wait",
        "nagle": "Heidemann 1996, section 2.3",
        "retransmission": _BSD_RETRANSMISSION_SOURCE,
        "idle_restart": "Heidemann 1996, section 2.4: SunOS 4.x does not reduce the window but for loss",
        "writer_wakes": "BSD's so_snd.sb_lowat (Stevens 1995, section 16.7)",
        "time_wait": "2 MSL, with BSD's MSL of 30 s",
    },
)

_BSD44: Final = _SUNOS.but(
    "bsd-4.4",
    "4.4BSD (FreeBSD 2.1 alike), options off: Reno, and back to slow start after an idle timeout",
    {
        "congestion": "4.4BSD-Lite: Reno (Stevens 1995, chapter 27)",
        "idle_restart": "Heidemann 1996, section 2.4: 4.4BSD, FreeBSD 2.1 reset the window",
        "receive_buffer": "net.inet.tcp.recvspace of FreeBSD 2.1: 16 KiB",
        "send_buffer": "net.inet.tcp.sendspace of FreeBSD 2.1: 16 KiB",
        "write_step_bytes": "4.4BSD's sosend: one mbuf cluster of 2048 bytes (Stevens 1995, section 16.7)",
    },
    congestion=Congestion.RENO,
    idle_restart=IdleRestart.RESET,
    write_step_bytes=2048,
    receive_buffer=16 * _KIB,
    send_buffer=16 * _KIB,
)

_NETBSD: Final = _BSD44.but(
    "netbsd-1.2.1",
    "NetBSD 1.2.1 as Kruse ran it, both bugs fixed: one segment at first, every second segment acknowledged",
    {
        "receive_buffer": "Kruse 2001, section 4.2: windows of 96 KB, never the limit",
        "send_buffer": "as the receive buffer",
        "window_scale": "needed for 96 KB (RFC 1323)",
        "timestamps": "Kruse 2001, section 2.1: used in the tests",
        "handshake_ack_opens_window": "Kruse 2001, section 2.1: the first bug, fixed",
        "acks": "Kruse 2001, section 2.1: the second bug, fixed; 200 ms heartbeat",
    },
    receive_buffer=96 * _KIB,
    send_buffer=96 * _KIB,
    window_scale=1,
    timestamps=True,
    handshake_ack_opens_window=False,
    acks=AckPolicy(every=2, counts_segments=True, delay=_BSD_HEARTBEAT),
)

_NETBSD_BUGS: Final = _NETBSD.but(
    "netbsd-1.2.1-bugs",
    "NetBSD 1.2.1 as it was shipped: two segments at first when opened passively, every third acknowledged",
    {
        "handshake_ack_opens_window": "Kruse 2001, section 2.1: the first bug",
        "acks": "Kruse 2001, section 2.1: the second bug; two segments' bytes do not count the timestamps",
    },
    handshake_ack_opens_window=True,
    acks=AckPolicy(every=3, counts_segments=True, delay=_BSD_HEARTBEAT),
)

_LINUX20: Final = Preset(
    stack=Stack(
        name="linux-2.0",
        mss=1460,
        receive_buffer=32_767,
        send_buffer=_LARGEST_UNSCALED_WINDOW,
        congestion=Congestion.RENO,
        initial_window=Segments(segments=1),
        acks=AckPolicy(every=2, counts_segments=True, delay=DelayTimer(delay=50 * _MS)),
        nagle=Nagle.BSD,
        retransmission=Retransmission(
            initial=3 * _S, min=200 * _MS, max=120 * _S, tick=10 * _MS, syn_initial=3 * _S, max_retries=15
        ),
        idle_restart=IdleRestart.RESET,
        writer_wakes=WriterWakes.THIRD,
        time_wait=60 * _S,
    ),
    about="Linux 2.0: Reno with a fine clock, slow-start restart after an idle RTO",
    source={
        "*": "Linux 2.0, net/ipv4 and include/net/tcp.h",
        "mss": "1500 bytes of Ethernet less 40 of headers",
        "receive_buffer": "MAX_WINDOW 32767",
        "send_buffer": "SK_WMEM_MAX 65535",
        "initial_window": "RFC 2001",
        "acks": "assumed: the adaptive delay as a constant of 50 ms",
        "nagle": "RFC 896",
        "retransmission": "HZ 100; TCP_TIMEOUT_INIT 3 s, TCP_RTO_MIN HZ/5, TCP_RTO_MAX 120 s, TCP_RETR2 15",
        "idle_restart": "Heidemann 1996, section 2.4: Linux 2.0 resets the window",
        "writer_wakes": "sock_wspace: free room is half of what is queued",
        "time_wait": "TCP_TIMEWAIT_LEN 60 s",
    },
)

_LINUX6: Final = Preset(
    stack=Stack(
        name="linux-6",
        mss=1460,
        window_scale=7,
        timestamps=True,
        sack=True,
        receive_buffer=3 * _MIB,
        send_buffer=4 * _MIB,
        congestion=Congestion.CUBIC,
        initial_window=Segments(segments=10),
        acks=AckPolicy(
            every=2,
            counts_segments=False,
            delay=DelayTimer(delay=40 * _MS),
            quick_acks=QuickAcks(segments=16, pingpong_timeout=40 * _MS),
        ),
        nagle=Nagle.MINSHALL,
        retransmission=Retransmission(
            initial=1 * _S,
            min=200 * _MS,
            max=120 * _S,
            min_is_spread=True,
            tick=0,
            syn_initial=1 * _S,
            max_retries=15,
        ),
        tail_loss_probe=True,
        window_in_segments=True,
        limited_transmit=True,
        idle_restart=IdleRestart.DECAY,
        writer_wakes=WriterWakes.THIRD,
        time_wait=60 * _S,
    ),
    about="Linux 6: CUBIC, ten initial segments, SACK, tail-loss probe, Minshall's Nagle, quick ACKs then 40 ms",
    source={
        "*": "Linux 6, Documentation/networking/ip-sysctl.rst: the defaults",
        "mss": "1500 bytes of Ethernet less 40 of headers; timestamps take 12 of them",
        "window_scale": "net.ipv4.tcp_rmem: 6 MiB at most need a shift of 7",
        "timestamps": "net.ipv4.tcp_timestamps 1",
        "sack": "net.ipv4.tcp_sack 1",
        "receive_buffer": "half of tcp_rmem's 6 MiB; that it grows to it while data comes is not modelled",
        "send_buffer": "net.ipv4.tcp_wmem: 4 MiB at most",
        "congestion": "net.ipv4.tcp_congestion_control cubic",
        "initial_window": "TCP_INIT_CWND 10, whatever the segment size; RFC 6928",
        "acks": "__tcp_ack_snd_check: at once above one segment; TCP_MAX_QUICKACKS 16, TCP_ATO_MIN 40 ms "
        "(measured: 40.1 to 51.9 ms, median 42.9)",
        "nagle": "tcp_nagle_test with tcp_minshall_check",
        "retransmission": "TCP_TIMEOUT_INIT 1 s, TCP_RTO_MIN 200 ms (tcp_rtt_estimator: the least of four "
        "deviations), TCP_RTO_MAX 120 s, tcp_retries2 15",
        "tail_loss_probe": "net.ipv4.tcp_early_retrans 3",
        "window_in_segments": "tcp_packets_in_flight",
        "limited_transmit": "RFC 3042",
        "idle_restart": "net.ipv4.tcp_slow_start_after_idle 1: RFC 2861",
        "writer_wakes": "sk_stream_min_wspace: free room is half of what is queued",
        "time_wait": "TCP_TIMEWAIT_LEN 60 s",
    },
)

_RWBP: Final = _RENO.but(
    "rwbp",
    "Receiver Window Backpressure Protocol of a satellite hub: no slow start, no congestion avoidance",
    {
        "congestion": "Bhalekar 2003, section 4.2.1: derived from Reno, without its congestion control",
        "receive_buffer": "more than 50 Mb/s times 0.5 s (Bhalekar 2003, section 5.5): never the limit",
        "send_buffer": "as the receive buffer",
        "window_scale": "needed for the buffer (RFC 7323)",
        "idle_restart": "there is no congestion window to restart",
        "nagle": "assumed: a proxy that forwards sets TCP_NODELAY",
    },
    congestion=Congestion.FIXED_WINDOW,
    receive_buffer=4 * _MIB,
    send_buffer=4 * _MIB,
    window_scale=7,
    idle_restart=IdleRestart.KEEP,
    nagle=Nagle.OFF,
)

_TTCP: Final = _RENO.but(
    "ttcp",
    "T/TCP: the request, and the FIN, ride on the SYN once the server is known",
    {"accelerated_open": "RFC 1644; Bhalekar 2003, section 3.1.1"},
    accelerated_open=True,
)

_TEMPORAL: Final = _RENO.but(
    "tcp-temporal",
    "Reno whose new connections start from what an earlier one to the same host learnt",
    {"sharing": "RFC 2140, section 3; the S-TCB of Bhalekar 2003, section 3.1.1, for serial connections"},
    sharing=Sharing.TEMPORAL,
)

_ENSEMBLE: Final = _RENO.but(
    "tcp-ensemble",
    "Reno whose concurrent connections share round trip and window by equal parts",
    {"sharing": "RFC 2140, section 4; the S-TCB of Bhalekar 2003, section 3.1.1"},
    sharing=Sharing.ENSEMBLE,
)

_DECAY_CAPPED: Final = _RENO.but(
    "reno-decay-capped",
    "Reno whose window decays while it is idle, and is at most three segments afterwards",
    {
        "idle_restart": "Heidemann 1996, section 2.4: decay the congestion window over time; RFC 2861",
        "restart_cap_segments": "Heidemann 1996, section 2.4: capped at some value; ours is 4 KB (RFC 2414)",
    },
    idle_restart=IdleRestart.DECAY,
    restart_cap_segments=3,
)

# Baseline of Eggert's comparison: one-way agents of ns-2.1 that acknowledge every segment.
_RENO_NS: Final = _RENO.but(
    "reno-ns",
    "The Reno that Eggert compares E-TCP with: segments of 512 bytes, every one acknowledged at once",
    {
        "mss": "Eggert 1999, section 4: MSS 512",
        "mss_option": "ns-2: headers of 40 bytes, no options",
        "receive_buffer": "ns-2 offers no window; 1 MiB, above any page",
        "send_buffer": "ns-2 has none",
        "window_scale": "needed for the window",
        "acks": "Eggert 1999, section 3.3: works only with immediate ACKs",
        "nagle": "ns-2's one-way agents send whole packets",
        "max_window_segments": "ns-2: window_ 20; Eggert 1999, section 4.3: a queue of 10 packets changes none of"
        " E-TCP's times, so that its window cannot outgrow path and queue, about 29 packets",
        "retransmission": "ns-2: tcpTick_ 0.1 s, rtxcur_init_ 6 s, minrto_ 0.2 s",
        "idle_restart": "ns-2's default: the window is kept",
        "upcall_before_ack": "ns-2 calls the application when data comes, and then acknowledges",
    },
    mss=512,
    mss_option=False,
    receive_buffer=_MIB,
    send_buffer=_UNBOUNDED_BUFFER,
    window_scale=7,
    acks=AckPolicy(every=1, counts_segments=True, delay=DelayTimer(delay=200 * _MS)),
    nagle=Nagle.OFF,
    max_window_segments=20,
    retransmission=Retransmission(
        initial=6 * _S, min=200 * _MS, max=64 * _S, tick=100 * _MS, syn_initial=6 * _S, max_retries=12
    ),
    upcall_before_ack=True,
    idle_restart=IdleRestart.KEEP,
)


def _etcp(sharing: Sharing, policy: str) -> Preset:
    return _RENO_NS.but(
        str(sharing),
        f"E-TCP: one congestion control for all connections of two hosts; {policy}",
        {
            "sharing": "Eggert 1999, sections 3.3, 3.4 and 4",
            "accelerated_open": "Eggert 1999, section 3: the T/TCP cache is part of the ensemble's",
            "idle_restart": "Eggert 1999, section 3.1: rate-based pacing after a pause",
        },
        sharing=sharing,
        accelerated_open=True,
        idle_restart=IdleRestart.PACE,
    )


_ETCP_AGED: Final = _etcp(Sharing.ETCP_FAIR, "each connection holds one ticket").but(
    "etcp-fair-aged",
    "E-TCP whose cached window is halved for each round trip that it is not in use",
    {"ages_shared_state": "Handley et al. 1999, by Eggert 1999, section 7.4"},
    ages_shared_state=True,
)

_ETCP_DELAYED_ACKS: Final = _etcp(Sharing.ETCP_FAIR, "each connection holds one ticket").but(
    "etcp-fair-delayed-acks",
    "E-TCP with delayed ACKs, and TCP-INT's answer to them",
    {
        "acks": "RFC 1122, section 4.2.3.2: every second segment, within 500 ms; 200 ms as BSD",
        "expects_delayed_acks": "TCP-INT, by Eggert 1999, section 3.3; its rule is in ns-2 (chost.cc, clean_segs)",
    },
    acks=AckPolicy(every=2, counts_segments=True, delay=DelayTimer(delay=200 * _MS)),
    expects_delayed_acks=True,
)

#: Every preset by name.
PRESETS: Final[Mapping[str, Preset]] = {
    preset.stack.name: preset
    for preset in (
        _TAHOE_NS,
        _FULLTCP_NS,
        _RENO,
        _NEWRENO,
        _SUNOS,
        _BSD44,
        _NETBSD,
        _NETBSD_BUGS,
        _LINUX20,
        _LINUX6,
        _RWBP,
        _TTCP,
        _TEMPORAL,
        _ENSEMBLE,
        _RENO_NS,
        _etcp(Sharing.ETCP_FAIR, "each connection holds one ticket"),
        _etcp(Sharing.ETCP_CONTENT_DEPENDENT, "tickets by content: HTML 12, Java 6, image 3, FTP 1"),
        _etcp(
            Sharing.ETCP_TICKET_DECAY,
            "16 tickets at first, half of them gone after the 5th, 10th, 20th and 40th packet",
        ),
        _etcp(Sharing.ETCP_HTML_PRE, "HTML goes before all others, which share by content"),
        _DECAY_CAPPED,
        _ETCP_AGED,
        _ETCP_DELAYED_ACKS,
        *modern(_LINUX6),
    )
}


def stack(name: str) -> Stack:
    """Return the preset stack of this name.

    :raises ScenarioError: the name is unknown; the message gives the nearest name.
    """
    return named(PRESETS, name, what="stack").stack


def knobs_of(preset: Preset) -> list[tuple[str, object, str]]:
    """Return name, value and source of each knob of the preset."""
    return [
        (field.name, getattr(preset.stack, field.name), preset.source_of(field.name))
        for field in fields(Stack)
        if field.name != "name"
    ]

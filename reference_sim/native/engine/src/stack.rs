//! What distinguishes one TCP implementation from another: the knobs of a stack.
//!
//! The presets, each knob with its source, are a table in Python (`reference_sim/stacks.py`).

use serde::Deserialize;

/// Nanoseconds.
pub type Nanoseconds = u64;

/// A TCP implementation as the choices that show on the wire. Bytes are payload bytes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    pub name: String,
    /// Largest payload it takes in a segment, options aside (RFC 9293, section 3.7.1).
    pub mss: u32,
    /// Whether SYNs carry the MSS option; otherwise the peer takes this stack's `mss` unasked.
    pub mss_option: bool,
    /// Shift of the window scale option, none if it is not offered (RFC 7323, section 2).
    pub window_scale: Option<u8>,
    /// Timestamps option (RFC 7323, section 3): 12 bytes of every segment.
    pub timestamps: bool,
    /// Selective acknowledgments (RFC 2018, RFC 6675).
    pub sack: bool,
    pub receive_buffer: u64,
    /// Data written and not yet acknowledged is at most this much; a writer waits for room.
    pub send_buffer: u64,
    /// Bound on data in flight whatever the windows say (the `window_` of ns-2), in segments.
    pub max_window_segments: Option<u32>,
    pub congestion: Congestion,
    /// How the first slow start ends.
    #[serde(default)]
    pub slow_start: SlowStart,
    pub initial_window: InitialWindow,
    /// Initial slow-start threshold in segments; none: unlimited (RFC 5681, section 3.1).
    pub initial_ssthresh_segments: Option<u32>,
    /// The window of a connection that was accepted is opened by the ACK of its SYN-ACK, as if
    /// that had acknowledged data: it starts one segment larger (Kruse 2001, section 2.1).
    pub handshake_ack_opens_window: bool,
    pub acks: AckPolicy,
    pub nagle: Nagle,
    pub retransmission: Retransmission,
    /// Lost data is sent again from RACK-like and tail-loss-probe timers (RFC 8985, section 7).
    pub tail_loss_probe: bool,
    /// With SACK: the congestion window counts segments of any size (Linux), not bytes.
    #[serde(default)]
    pub window_in_segments: bool,
    /// New data on the first two duplicate ACKs (RFC 3042).
    pub limited_transmit: bool,
    pub idle_restart: IdleRestart,
    /// All new data is paced at a multiple of the window per round trip (Linux with fq).
    #[serde(default)]
    pub rate_pacing: bool,
    /// The client's first data rides on the ACK that ends the handshake.
    pub data_on_handshake_ack: bool,
    /// The application sees data before an ACK of it leaves, so that an answer made in no time
    /// carries the ACK (ns-2's upcalls); kernels send an ACK that is due at once before.
    pub upcall_before_ack: bool,
    /// Connections that the application opens then send their SYNs before that ACK, too.
    #[serde(default)]
    pub upcall_opens_before_ack: bool,
    /// The socket layer hands a write to TCP in pieces of so many bytes, and TCP may send after
    /// each (4.4BSD's sosend: one mbuf cluster of 2048 bytes); none: the whole write at once.
    pub write_step_bytes: Option<u32>,
    /// How much of a send buffer that was full must be free before a blocked writer goes on.
    pub writer_wakes: WriterWakes,
    /// A FIN rides on the last data if both are ready, and on the ACK of the peer's FIN; otherwise
    /// it goes alone behind that ACK, and behind data once all of it is acknowledged, but for data
    /// that goes out when nothing is in flight (ns-2's FullTcp).
    pub fin_with_data: bool,
    /// A FIN that was sent once rides on every ACK without data, also when data before it has to
    /// go out again; the peer answers it with its own, and if data is sent behind that, this end
    /// never closes (ns-2's BayFullTcp, whose server then takes no other connection).
    #[serde(default)]
    pub fin_on_bare_acks: bool,
    /// T/TCP: the first data and the FIN may ride on the SYN once the server is known (RFC 1644).
    pub accelerated_open: bool,
    pub sharing: Sharing,
    /// How long the side that closed first remembers the connection.
    pub time_wait_ns: Nanoseconds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    /// Fast retransmit, then slow start from one segment (Jacobson 1988).
    Tahoe,
    /// Fast recovery, left by any new ACK (RFC 2001).
    Reno,
    /// Reno as ns-2's BayFullTcp has it (ns-2.35, tcp-full-bay.cc): duplicate ACKs count while a
    /// timeout's repetitions go on, too; the third one lets only the retransmission go, which
    /// counts as new data would; recovery ends with two segments more than what is in flight, not
    /// with the threshold; each timeout in a row halves the window anew, down to two segments.
    BayReno,
    /// Fast recovery that partial ACKs go on with (RFC 6582).
    Newreno,
    /// RFC 9438; how its slow start ends is `slow_start`.
    Cubic,
    /// No congestion control: always the whole window (the RWBP of a satellite hub).
    FixedWindow,
}

/// How the first slow start ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SlowStart {
    /// With the first loss (RFC 5681, section 3.1).
    #[default]
    Standard,
    /// Where the round trip grows (RFC 9406).
    HystartPlusPlus,
}

impl Stack {
    /// What connections share: nothing where there is no congestion window.
    #[must_use]
    pub fn shares(&self) -> Sharing {
        if self.congestion == Congestion::FixedWindow {
            Sharing::None
        } else {
            self.sharing
        }
    }

    /// What an idle period does: nothing where there is no congestion window.
    #[must_use]
    pub fn restarts(&self) -> IdleRestart {
        if self.congestion == Congestion::FixedWindow {
            IdleRestart::Keep
        } else {
            self.idle_restart
        }
    }
}

/// The window of a new connection, in bytes once the segment size is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind", content = "segments")]
pub enum InitialWindow {
    Segments(u32),
    /// min(4 MSS, max(2 MSS, 4380)) (RFC 3390).
    Rfc3390,
    /// min(10 MSS, max(2 MSS, 14600)) (RFC 6928).
    Rfc6928,
}

impl InitialWindow {
    #[must_use]
    pub fn bytes(self, mss: u32) -> u64 {
        let mss = u64::from(mss);
        match self {
            InitialWindow::Segments(count) => mss.saturating_mul(u64::from(count)),
            InitialWindow::Rfc3390 => (4 * mss).min((2 * mss).max(4380)),
            InitialWindow::Rfc6928 => (10 * mss).min((2 * mss).max(14_600)),
        }
    }
}

/// When a receiver acknowledges data in order; out of order and filling data always at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AckPolicy {
    /// Data in this many segments' bytes is acknowledged at once: 1 every segment, 2 every other
    /// (RFC 5681, section 4.2), 3 the netbsd-1.2.1 with timestamps (Kruse 2001, section 2.1).
    pub every: u32,
    /// Whether `every` counts segments of any size, or bytes against the segment size.
    pub counts_segments: bool,
    pub delay: AckDelay,
    /// The first bytes of a connection are acknowledged at once: 16 kB in ns-2's BayFullTcp.
    pub at_once_bytes: u64,
    /// As many bytes are again after each segment that came out of order (BayFullTcp).
    #[serde(default)]
    pub at_once_after_loss: bool,
    /// Linux: so many segments at once at a connection's start and after a pause without
    /// data of its own; afterwards delayed only in "ping-pong" mode.
    pub quick_acks: Option<QuickAcks>,
    /// A segment with PSH is acknowledged at once.
    pub on_push: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum AckDelay {
    /// Until a heartbeat of the whole host, at `phase_ns` and every `period_ns` (BSD: 200 ms).
    Heartbeat {
        period_ns: Nanoseconds,
        phase_ns: Nanoseconds,
    },
    /// So long after the data came.
    Timer { delay_ns: Nanoseconds },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuickAcks {
    pub segments: u32,
    /// A pause in sending longer than this leaves ping-pong mode.
    pub pingpong_timeout_ns: Nanoseconds,
}

/// When a segment below the MSS waits for an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nagle {
    Off,
    /// While anything is unacknowledged (RFC 896; with BSD's half-of-the-peer's-window rule of
    /// RFC 1122, section 4.2.3.4).
    Bsd,
    /// While anything is unacknowledged, the segment before it of the same write too (lwIP's
    /// `tcp_do_output_nagle`).
    Strict,
    /// While a segment below the MSS is unacknowledged (draft-minshall-nagle-01; Linux).
    Minshall,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retransmission {
    /// Before a round trip is known (RFC 6298, rule 2.1).
    pub initial_ns: Nanoseconds,
    pub min_ns: Nanoseconds,
    pub max_ns: Nanoseconds,
    /// `min_ns` is the least of what is added to the smoothed round trip, and that is taken down
    /// once a round trip at most (Linux's `tcp_rtt_estimator`), not the least timeout.
    #[serde(default)]
    pub min_is_spread: bool,
    /// Granularity of the stack's clock; 0: none. Round trips are counted in ticks of it, and
    /// (`on_ticks`) timeouts come at whole ticks of the host's clock, as BSD's slow timer does.
    pub tick_ns: Nanoseconds,
    pub on_ticks: bool,
    pub duplicate_ack_threshold: u32,
    /// The way of each ACK is taken for the round trip, from the time at which the ACK was sent,
    /// not that of the segment that it acknowledges (BayFullTcp, newack).
    #[serde(default)]
    pub times_acks: bool,
    /// The estimate is kept in eighths of ticks, and the deviation in quarters, as integers, and
    /// is begun anew after four timeouts in a row (Jacobson 1988, appendix A; ns-2, rtt_update).
    #[serde(default)]
    pub fixed_point: bool,
    /// A fast retransmit doubles the timeout as a timeout does (BayFullTcp, fast_retransmit).
    #[serde(default)]
    pub fast_retransmit_backs_off: bool,
    /// A timeout of a SYN, where it differs from `initial_ns`.
    pub syn_initial_ns: Nanoseconds,
    pub max_retries: u32,
}

/// When a writer that waits for room in the send buffer goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriterWakes {
    /// With any room.
    Any,
    /// 2048 bytes, or half of a smaller buffer (4.4BSD: `sb_lowat`, SO_SNDLOWAT).
    LowWater,
    /// A third of the buffer (Linux: `sk_stream_min_wspace`).
    Third,
}

impl WriterWakes {
    /// The room that it takes, in bytes.
    #[must_use]
    pub fn room(self, buffer: u64) -> u64 {
        match self {
            WriterWakes::Any => 1,
            WriterWakes::LowWater => 2048.min(buffer / 2),
            WriterWakes::Third => buffer / 3,
        }
    }
}

/// What an idle period of more than one timeout does to the congestion window
/// (Heidemann 1996, section 2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdleRestart {
    /// SunOS 4.x.
    Keep,
    /// 4.4BSD: back to the restart window, if all is acknowledged and nothing was *sent* for a
    /// timeout (RFC 5681, section 4.1).
    Reset,
    /// Half for each timeout that passed, not below the restart window (RFC 2861).
    Decay,
    /// The window is kept, and its first flight is spread over one round trip
    /// (Visweswaraiah and Heidemann, rate-based pacing).
    Pace,
}

/// What connections of one pair of hosts share (RFC 2140; Eggert 1999).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    None,
    /// A new connection starts from what an earlier one learnt (RFC 2140, section 3).
    Temporal,
    /// Concurrent connections share round trip and window by equal parts (RFC 2140, section 4).
    Ensemble,
    /// E-TCP: one congestion control for all, and a scheduler (Eggert 1999, section 3).
    Etcp(Scheduler),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduler {
    Fair,
    ContentDependent,
    TicketDecay,
    HtmlPre,
}

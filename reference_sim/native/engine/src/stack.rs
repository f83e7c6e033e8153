//! The differences between TCP implementations: the parameters of a stack.
//!
//! Python has the table of presets, with the source of each parameter (`reference_sim/stacks.py`).

use serde::Deserialize;

/// Nanoseconds.
pub type Nanoseconds = u64;

/// A TCP implementation, described by its visible choices. Bytes are payload bytes.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Stack {
    pub name: String,
    /// Maximum payload that the stack accepts per segment, without options (RFC 9293, section 3.7.1).
    pub mss: u32,
    /// True if SYNs carry the MSS option. Otherwise the peer uses this stack's `mss`.
    pub mss_option: bool,
    /// Shift of the window scale option. None: the option is not offered (RFC 7323, section 2).
    pub window_scale: Option<u8>,
    /// True with the timestamps option (RFC 7323, section 3): 12 bytes per segment.
    pub timestamps: bool,
    /// True with selective acknowledgments (RFC 2018, RFC 6675).
    pub sack: bool,
    pub receive_buffer: u64,
    /// True if the window follows the application's reads, up to the receive buffer (Linux).
    #[serde(default)]
    pub receive_autotuning: bool,
    /// Maximum of written and unacknowledged data. A writer waits for room.
    pub send_buffer: u64,
    /// Maximum data in flight regardless of the windows, in segments (the `window_` of ns-2).
    pub max_window_segments: Option<u32>,
    pub congestion: Congestion,
    /// The rule that ends the first slow start.
    #[serde(default)]
    pub slow_start: SlowStart,
    pub initial_window: InitialWindow,
    /// Initial slow-start threshold in segments. None: unlimited (RFC 5681, section 3.1).
    pub initial_ssthresh_segments: Option<u32>,
    /// True if the ACK of the SYN-ACK opens the window of an accepted connection like an ACK of data. The
    /// window then starts one segment larger (Kruse 2001, section 2.1).
    pub handshake_ack_opens_window: bool,
    pub acks: AckPolicy,
    pub nagle: Nagle,
    pub retransmission: Retransmission,
    /// True if RACK-like and tail-loss-probe timers trigger retransmissions (RFC 8985, section 7).
    pub tail_loss_probe: bool,
    /// With SACK: true if the congestion window counts segments of any size (Linux) instead of bytes.
    #[serde(default)]
    pub window_in_segments: bool,
    /// True if the first two duplicate ACKs release new data (RFC 3042).
    pub limited_transmit: bool,
    pub idle_restart: IdleRestart,
    /// Maximum congestion window after an idle period, in segments. None: the window of `idle_restart`
    /// (Heidemann 1996, section 2.4).
    #[serde(default)]
    pub restart_cap_segments: Option<u32>,
    /// True with ECN: queues can mark packets instead of dropping them (RFC 3168).
    #[serde(default)]
    pub ecn: bool,
    /// True if all new data is paced at a multiple of the window per round trip (Linux with fq).
    #[serde(default)]
    pub rate_pacing: bool,
    /// True if the client's first data travels on the ACK that ends the handshake.
    pub data_on_handshake_ack: bool,
    /// True if the application sees data before its ACK leaves, so an immediate response carries the ACK
    /// (ns-2's upcalls). Kernels send a due ACK first.
    pub upcall_before_ack: bool,
    /// True if connections opened by the application in this upcall also send their SYNs before that ACK.
    #[serde(default)]
    pub upcall_opens_before_ack: bool,
    /// Length of the pieces in which the socket layer passes a write to TCP. TCP can send after each piece
    /// (4.4BSD's sosend: one mbuf cluster of 2048 bytes). None: the whole write at once.
    pub write_step_bytes: Option<u32>,
    /// Room that wakes a writer after a full send buffer.
    pub writer_wakes: WriterWakes,
    /// True if a FIN travels on the last data or on the ACK of the peer's FIN. Otherwise the FIN follows that
    /// ACK alone. After data, the FIN waits until all data is acknowledged. Data sent with nothing in flight
    /// still carries the FIN (ns-2's FullTcp).
    pub fin_with_data: bool,
    /// True if every later ACK without data repeats a FIN that was sent once, even before retransmitted data.
    /// The peer answers with its own FIN. If the peer sends data after that, this end never closes. This is
    /// ns-2's BayFullTcp, whose server then accepts no other connection.
    #[serde(default)]
    pub fin_on_bare_acks: bool,
    /// True with T/TCP: the first data and the FIN can travel on the SYN once the server is known (RFC 1644).
    pub accelerated_open: bool,
    /// True with TCP Fast Open: the first data travels on the SYN to a server that gave a cookie (RFC 7413).
    #[serde(default)]
    pub fast_open: bool,
    pub sharing: Sharing,
    /// True if a cached window is halved per round trip since its storage (Handley et al., cited by Eggert
    /// 1999, section 7.4).
    #[serde(default)]
    pub ages_shared_state: bool,
    /// True if E-TCP expects delayed ACKs. A single skipped packet is then no sign of a loss (TCP-INT, cited
    /// by Eggert 1999, section 3.3).
    #[serde(default)]
    pub expects_delayed_acks: bool,
    /// Time for which the side that closed first remembers the connection.
    pub time_wait_ns: Nanoseconds,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Congestion {
    /// Fast retransmit, then slow start from one segment (Jacobson 1988).
    Tahoe,
    /// Fast recovery that ends with any new ACK (RFC 2001).
    Reno,
    /// Reno as in ns-2's BayFullTcp (ns-2.35, tcp-full-bay.cc). Duplicate ACKs count during timeout
    /// retransmissions too. The third one releases only the retransmission, which opens the window as new
    /// data does. Recovery ends with a window of two segments above the flight, not with the threshold. Each
    /// consecutive timeout halves the window again, down to two segments.
    BayReno,
    /// Fast recovery that continues on partial ACKs (RFC 6582).
    Newreno,
    /// CUBIC (RFC 9438). `slow_start` sets the end of its slow start.
    Cubic,
    /// BBR, version 1: a model of the path sets the pacing rate and the window
    /// (draft-cardwell-iccrg-bbr-congestion-control-00).
    Bbr,
    /// No congestion control: always the whole window (the RWBP of a satellite hub).
    FixedWindow,
}

/// The rule that ends the first slow start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum SlowStart {
    /// The first loss (RFC 5681, section 3.1).
    #[default]
    Standard,
    /// Growth of the round-trip time (RFC 9406).
    HystartPlusPlus,
}

impl Stack {
    /// Return the sharing of connections: none without a congestion window.
    #[must_use]
    pub fn shares(&self) -> Sharing {
        if self.congestion == Congestion::FixedWindow {
            Sharing::None
        } else {
            self.sharing
        }
    }

    /// Return the effect of an idle period: none without a congestion window, and none with BBR, whose model
    /// stays valid (Linux, `tcp_slow_start_after_idle_check`).
    #[must_use]
    pub fn restarts(&self) -> IdleRestart {
        if matches!(self.congestion, Congestion::FixedWindow | Congestion::Bbr) {
            IdleRestart::Keep
        } else {
            self.idle_restart
        }
    }
}

/// The initial window, in bytes once the segment size is known.
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

/// The acknowledgment of data in order. Out-of-order data and hole-filling data are always acknowledged at
/// once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AckPolicy {
    /// Number of full segments that trigger an immediate ACK: 1 for every segment, 2 for every second segment
    /// (RFC 5681, section 4.2). The stack netbsd-1.2.1 with timestamps has 3 (Kruse 2001, section 2.1).
    pub every: u32,
    /// True if `every` counts segments of any size, false if `every` counts bytes in units of the segment
    /// size.
    pub counts_segments: bool,
    pub delay: AckDelay,
    /// Bytes at a connection's start that are acknowledged at once: 16 kB in ns-2's BayFullTcp.
    pub at_once_bytes: u64,
    /// True if the same number of bytes is acknowledged at once after each out-of-order segment (BayFullTcp).
    #[serde(default)]
    pub at_once_after_loss: bool,
    /// Linux: number of segments acknowledged at once at a connection's start, and after a pause without own
    /// data. Later ACKs are delayed only in ping-pong mode.
    pub quick_acks: Option<QuickAcks>,
    /// True if a segment with PSH is acknowledged at once.
    pub on_push: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "kind")]
pub enum AckDelay {
    /// A delay until the host's next heartbeat, at `phase_ns` and every `period_ns` (BSD: 200 ms).
    Heartbeat {
        period_ns: Nanoseconds,
        phase_ns: Nanoseconds,
    },
    /// A fixed delay after the arrival of the data.
    Timer { delay_ns: Nanoseconds },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct QuickAcks {
    pub segments: u32,
    /// Pause in sending after which the stack leaves ping-pong mode.
    pub pingpong_timeout_ns: Nanoseconds,
}

/// The condition under which a segment below the MSS waits for an ACK.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Nagle {
    Off,
    /// Any unacknowledged data (RFC 896, with BSD's half-of-the-peer's-window rule of RFC 1122, section
    /// 4.2.3.4).
    Bsd,
    /// Any unacknowledged data, the previous segment of the same write included (lwIP's
    /// `tcp_do_output_nagle`).
    Strict,
    /// An unacknowledged segment below the MSS (draft-minshall-nagle-01; Linux).
    Minshall,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Retransmission {
    /// RTO before the first round-trip sample (RFC 6298, rule 2.1).
    pub initial_ns: Nanoseconds,
    pub min_ns: Nanoseconds,
    pub max_ns: Nanoseconds,
    /// True if `min_ns` is the minimum of the term added to the smoothed round trip, instead of the minimum
    /// RTO. This term decreases at most once per round trip (Linux's `tcp_rtt_estimator`).
    #[serde(default)]
    pub min_is_spread: bool,
    /// Granularity of the stack's clock; 0 for an exact clock. Round trips are counted in ticks. With
    /// `on_ticks`, timeouts occur at whole ticks of the host's clock, like BSD's slow timer.
    pub tick_ns: Nanoseconds,
    pub on_ticks: bool,
    pub duplicate_ack_threshold: u32,
    /// True if each ACK gives a round-trip sample from its own sending time, instead of the acknowledged
    /// segment's sending time (BayFullTcp, newack).
    #[serde(default)]
    pub times_acks: bool,
    /// True if the estimate is kept in integer eighths of ticks, and the deviation in quarters. The estimate
    /// restarts after four consecutive timeouts (Jacobson 1988, appendix A; ns-2, rtt_update).
    #[serde(default)]
    pub fixed_point: bool,
    /// True if a fast retransmit doubles the RTO like a timeout (BayFullTcp, fast_retransmit).
    #[serde(default)]
    pub fast_retransmit_backs_off: bool,
    /// RTO of a SYN, if different from `initial_ns`.
    pub syn_initial_ns: Nanoseconds,
    pub max_retries: u32,
}

/// The room in the send buffer that wakes a waiting writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum WriterWakes {
    /// Any room.
    Any,
    /// 2048 bytes, or half of a smaller buffer (4.4BSD: `sb_lowat`, SO_SNDLOWAT).
    LowWater,
    /// A third of the buffer (Linux: `sk_stream_min_wspace`).
    Third,
}

impl WriterWakes {
    /// Return the required room in bytes.
    #[must_use]
    pub fn room(self, buffer: u64) -> u64 {
        match self {
            WriterWakes::Any => 1,
            WriterWakes::LowWater => 2048.min(buffer / 2),
            WriterWakes::Third => buffer / 3,
        }
    }
}

/// The effect on the congestion window of an idle period above one RTO (Heidemann 1996, section 2.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum IdleRestart {
    /// No effect: SunOS 4.x.
    Keep,
    /// Reset to the restart window after one RTO, if all data is acknowledged and the sender *sent* nothing
    /// (4.4BSD; RFC 5681, section 4.1).
    Reset,
    /// Half the window per elapsed RTO, at least the restart window (RFC 2861).
    Decay,
    /// An unchanged window whose first flight is spread over one round trip (Visweswaraiah and Heidemann,
    /// rate-based pacing).
    Pace,
}

/// The sharing between connections of one pair of hosts (RFC 2140; Eggert 1999).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Sharing {
    None,
    /// A new connection starts from the state of an earlier one (RFC 2140, section 3).
    Temporal,
    /// Concurrent connections share round trip and window in equal parts (RFC 2140, section 4).
    Ensemble,
    /// E-TCP: one congestion control for all connections, and a scheduler (Eggert 1999, section 3).
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

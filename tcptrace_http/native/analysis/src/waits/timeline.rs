//! One direction's data as its receiver has it: when each byte came, and what it had waited for.
//!
//! A capture at the sender shows when data left, one at the receiver when it came. What both agree on
//! is when the receiver had it in order. Near the receiver that is when the data goes by and no hole is
//! open before it; near the sender it is when the ACK comes back (an ACK that was delayed is taken for
//! what it would have been). So a timeline settles data by the one or by the other, and gives the time
//! between two settled segments to one cause: the pace of the path, or what let the later one go.

use std::collections::VecDeque;

use trace_model::rows::{Cause, RecoveryKind};

use super::acks::{Acks, Released};
use super::arrivals::Arrivals;
use super::link::{Least, Link, LinkBurst};
use super::pace::{Flights, Limit, Pace, BURST_MIN_NS, PACE_STRETCHED_MAX_NS};
use super::partition::{Moment, ASSUMED, INFERRED, SEEN};
use super::window::UsedWindow;
use crate::shared_windows::Sharing;

/// Data that waits to be settled: an ordinary window, or what a hole holds up.
const PENDING_MAX: usize = 1 << 14;
/// Waits that are remembered until their transaction is over: 4,000 round trips of a long download.
const PIECES_MAX: usize = 1 << 13;
/// An ACK later than this was delayed: 10 ms is the least in use. Round trips vary by a share of them.
const DELAYED_ACK_MIN_NS: i64 = 8_000_000;
const JITTER_RTT_SHARE: i64 = 10;
/// A receiver acknowledges two full segments at once (RFC 1122, 4.2.3.2).
const DELAYED_ACK_SEGMENTS: u32 = 2;
/// ACKs of data that came too little to tell of the slowest link: of an initial window there are two or three.
const WAITING_ACKS_MAX: usize = 4;
/// Answers whose transactions are not over: as many as requests wait for theirs.
const OPENINGS_MAX: usize = 1 << 11;
/// A segment takes no longer on a link than a full one, by more than this share of it.
const SAME_PACE_SHARE: i64 = 50;
/// The least retransmission timeout of stacks in use: an idle sender restarts after it.
const TIMEOUT_MIN_NS: i64 = 200_000_000;
/// A segment with payload.
#[derive(Clone, Copy, Debug)]
pub(super) struct Data {
    pub(super) at: Moment,
    /// Offset after its last byte.
    pub(super) end: i64,
    pub(super) bytes: u32,
    /// Segments it was on the wire.
    pub(super) segments: u32,
    /// Payload of a full one.
    pub(super) full_bytes: u32,
    /// Bytes before it were passed over.
    pub(super) opens_hole: bool,
    pub(super) recovery: Option<RecoveryKind>,
    /// It was pushed (PSH): its sender had no more to send then.
    pub(super) is_pushed: bool,
    pub(super) sharing: Sharing,
}

impl Data {
    fn is_full(&self) -> bool {
        self.full_bytes > 0 && self.bytes >= self.full_bytes
    }
}

/// Payload that was sent before, or fills a hole.
#[derive(Clone, Copy, Debug)]
pub(super) struct Resent {
    pub(super) at: Moment,
    pub(super) start: i64,
    pub(super) recovery: Option<RecoveryKind>,
}

/// The path of the data, as the observation point has it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Route {
    pub(super) to_sender_ns: i64,
    pub(super) to_receiver_ns: i64,
    /// The capture was taken at the sender: ACKs tell when data came.
    pub(super) is_at_sender: bool,
}

impl Route {
    pub(super) fn rtt_ns(self) -> i64 {
        self.to_sender_ns.saturating_add(self.to_receiver_ns)
    }
}

/// Words for the causes that differ by direction.
#[derive(Clone, Copy, Debug)]
pub(super) struct Words {
    pub(super) burst: Cause,
    pub(super) idle: Cause,
}

#[derive(Clone, Copy, Debug)]
struct Pending {
    at: Moment,
    end: i64,
    bytes: u32,
    segments: u32,
    /// What it waited for; None in a burst.
    cause: Option<(Cause, f64)>,
    if_shared: Option<Cause>,
    /// Nothing before it is on its way, or it waited for something else.
    begins_burst: bool,
    /// The sender's connections share their window: what one waits for is no pace of the link.
    is_shared: bool,
    /// What the slowest link takes for it, as far as all connections to the host tell.
    service_ns: i64,
    /// How long after the segment before it went by.
    gap_ns: i64,
    /// How long of that the ACK of the segment before was delayed, which was alone in the window.
    ack_delay_ns: i64,
    /// From when on the window was open, although the sender learnt it by a probe only.
    persists_from_ns: Option<i64>,
    /// It was lost: how that was noticed, and the frame in which it was sent again.
    stall: Option<(Cause, u64)>,
}

/// An interval between two segments.
#[derive(Clone, Copy, Debug)]
pub(super) struct Piece {
    pub(super) start: Moment,
    pub(super) end: Moment,
    pub(super) cause: Cause,
    pub(super) confidence: f64,
    /// What it is if connections turn out to share a window.
    if_shared: Option<Cause>,
    /// The wait before this segment; none where something else tells how long it was.
    waited: Option<Waited>,
}

/// A segment and when its receiver had the one before.
#[derive(Clone, Copy, Debug)]
struct Waited {
    since_ns: i64,
    bytes: u32,
    segments: u32,
}

impl Piece {
    /// Whether data was on its way again: that cannot be the application's time.
    pub(super) fn is_repair(&self) -> bool {
        matches!(
            self.cause,
            Cause::StallRetransmissionTimeout
                | Cause::StallTailLoss
                | Cause::StallFastRecovery
                | Cause::NetworkReordering
        )
    }
}

/// The first segment of an answer.
#[derive(Clone, Copy, Debug)]
struct Opening {
    time_ns: i64,
    bytes: u32,
    /// The window that it waited for, if another connection's ACK made the room.
    held: Option<Cause>,
}

/// Where a response lies, and when its first and last byte came.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) start: i64,
    pub(super) end: Option<i64>,
    pub(super) first: Option<Moment>,
    pub(super) last: Option<Moment>,
}

#[derive(Debug)]
pub(super) struct Timeline {
    words: Words,
    /// When the receiver had the data before.
    came: Option<Moment>,
    sent: Option<(Moment, bool)>,
    /// The segment before was not pushed: its sender had more in its buffer (RFC 9293, section 3.9.1).
    has_more: bool,
    pending: VecDeque<Pending>,
    has_hole: bool,
    settles_by_ack: bool,
    pace: Pace,
    /// Near the receiver; and what was known of it before a segment with these offsets.
    arrivals: Arrivals,
    arrivals_before: Option<(i64, i64, Arrivals)>,
    /// What all connections between the two hosts tell, near the receiver.
    shared_arrivals: Arrivals,
    /// At the sender, where packets leave in another pace than that in which they come.
    link: Link,
    burst: LinkBurst,
    learnt_until: i64,
    /// ACKs that came while the link was not known.
    waiting_acks: VecDeque<(Moment, i64)>,
    flights: Flights,
    /// At the sender.
    window: UsedWindow,
    pieces: VecDeque<Piece>,
    /// Pieces that were too many, as a time before which nothing is known.
    forgotten_until_ns: Option<i64>,
    extents: VecDeque<Extent>,
    probed_ns: Option<i64>,
    full_bytes: u32,
    /// What the receiver has acknowledged.
    acked: i64,
    /// The other direction has spoken since the last segment.
    is_answer: bool,
    openings: VecDeque<Opening>,
    /// What the present segment waited for if connections share a window, which may show later.
    if_shared: Option<Cause>,
}

impl Timeline {
    /// Of which `begun`, if any, is the last segment before.
    pub(super) fn new(words: Words, begun: Option<Moment>) -> Self {
        Timeline {
            words,
            came: begun,
            sent: begun.map(|begun| (begun, true)),
            has_more: false,
            pending: VecDeque::new(),
            has_hole: false,
            settles_by_ack: false,
            pace: Pace::default(),
            arrivals: Arrivals::default(),
            arrivals_before: None,
            shared_arrivals: Arrivals::default(),
            link: Link::default(),
            burst: LinkBurst::default(),
            learnt_until: 0,
            waiting_acks: VecDeque::new(),
            flights: Flights::default(),
            window: UsedWindow::default(),
            pieces: VecDeque::new(),
            forgotten_until_ns: None,
            extents: VecDeque::new(),
            probed_ns: None,
            full_bytes: 0,
            acked: 0,
            is_answer: true,
            openings: VecDeque::new(),
            if_shared: None,
        }
    }

    /// The sender's connections were found to share a window.
    pub(super) fn windows_are_shared(&mut self) {
        for piece in &mut self.pieces {
            if let Some(cause) = piece.if_shared.take() {
                piece.cause = cause;
                piece.waited = None;
            }
        }
        for sent in &mut self.pending {
            let shared = sent.if_shared.take().map(|cause| (cause, INFERRED));
            sent.is_shared |= shared.is_some();
            sent.cause = shared.or(sent.cause);
        }
    }

    /// The other direction has spoken: what comes is another message.
    pub(super) fn begins(&mut self) {
        self.flights.begins();
        self.window.begins();
        self.is_answer = true;
    }

    /// The first segment of an answer went by at `time_ns`, so much later than the question as it took longer than
    /// the path's least round trip; of `bytes` the question is, and of so many headers more.
    pub(super) fn answered(&mut self, time_ns: i64, longer_ns: i64, bytes: u32, headers: u32) {
        let opening = self.opening(time_ns).filter(|_| !self.settles_by_ack);
        if let Some(opening) = opening {
            let bytes = bytes.saturating_add(opening.bytes);
            self.arrivals.may_agree(longer_ns, bytes, headers);
        }
    }

    /// How long the slowest link takes for a question longer than for a packet without payload: it is taken to be
    /// as slow in that direction.
    pub(super) fn question_takes_ns(&self, bytes: u32) -> i64 {
        self.on_link_ns(bytes, 0, self.full_bytes).unwrap_or(0)
    }

    /// How long the slowest link takes for the first segment of an answer, which went by at `time_ns`.
    pub(super) fn opening_pace_ns(&self, time_ns: i64) -> i64 {
        self.opening(time_ns)
            .map_or(0, |opening| self.takes(opening.bytes, 1, self.full_bytes))
    }

    /// The window that the first segment of an answer waited for, which went by at `time_ns`, if that was known
    /// to be shared.
    pub(super) fn opening_held(&self, time_ns: i64) -> Option<Cause> {
        self.opening(time_ns)?.held
    }

    fn opening(&self, time_ns: i64) -> Option<&Opening> {
        let mut openings = self.openings.iter();
        openings.find(|opening| opening.time_ns == time_ns)
    }

    /// How much longer than a packet without payload a segment takes on the slowest link, as far as its pace is
    /// known.
    pub(super) fn takes_ns(&self, bytes: u32) -> i64 {
        let sure = Some(self.pace).filter(|pace| pace.is_sure() && pace.is_known());
        let Some(pace) = sure else {
            let takes = self.on_link_ns(bytes, 0, self.full_bytes);
            return takes.unwrap_or(0);
        };
        let bare = pace.of_bytes(0, self.full_bytes);
        pace.of_bytes(bytes, self.full_bytes).saturating_sub(bare)
    }

    /// New data was seen.
    pub(super) fn new_data(&mut self, data: Data, route: Route, acks: &Acks) {
        let is_answer = std::mem::take(&mut self.is_answer);
        if is_answer && self.openings.len() < OPENINGS_MAX {
            self.openings.push_back(Opening {
                time_ns: data.at.time_ns,
                bytes: data.bytes,
                held: shared_window(data.sharing),
            });
        }
        if data.sharing.is_shared {
            self.windows_are_shared();
        }
        if !is_answer && shared_window(data.sharing).is_none() {
            self.learn_arrivals(data, route, acks);
        }
        self.shared_arrivals = data.sharing.link;
        let cause = self.wait_before(data, route, acks);
        let before = self.sent.map_or(data.at, |(sent, _)| sent);
        let ack_delay_ns = self.ack_delay(data, route, acks);
        if self.pending.is_empty() {
            self.settles_by_ack = route.is_at_sender;
        }
        let start = data.end.saturating_sub(i64::from(data.bytes));
        let begins_burst = start <= self.acked || cause.is_some();
        self.sent = Some((data.at, data.is_full()));
        self.has_more = !data.is_pushed;
        self.full_bytes = data.full_bytes;
        self.flights.sent(data.segments);
        self.window.sent(data.end, self.acked, data.full_bytes);
        self.has_hole |= data.opens_hole && !self.settles_by_ack;
        let sent = Pending {
            at: data.at,
            end: data.end,
            bytes: data.bytes,
            segments: data.segments,
            cause,
            if_shared: self.if_shared.take(),
            begins_burst,
            is_shared: data.sharing.is_shared,
            service_ns: service_ns(data),
            gap_ns: data.at.time_ns.saturating_sub(before.time_ns),
            ack_delay_ns,
            persists_from_ns: self.persist(data, route, acks),
            stall: None,
        };
        self.probed_ns = None;
        if self.pending.is_empty() && !self.settles_by_ack && !self.has_hole {
            // Settled at once, as most data is: nothing need be put by and read back.
            self.append(sent, data.at.time_ns, route);
            return;
        }
        self.pending.push_back(sent);
        if (!self.settles_by_ack && !self.has_hole) || self.pending.len() > PENDING_MAX {
            self.settle(data.end, data.at, route);
        }
    }

    /// What the data waited for since the segment before; None if it followed at once.
    fn wait_before(&mut self, data: Data, route: Route, acks: &Acks) -> Option<(Cause, f64)> {
        let (sent, was_full) = self.sent?;
        let gap = data.at.time_ns.saturating_sub(sent.time_ns);
        let rtt = route.rtt_ns();
        let are_full = was_full && data.is_full() && !data.opens_hole;
        if self.is_in_burst(gap, data, route, acks) {
            // A sender's burst leaves at once; in which pace it comes the ACKs tell.
            if are_full && !route.is_at_sender {
                self.pace.learn(gap, data.segments);
            }
            return None;
        }
        let pace = self.takes(data.bytes, data.segments, data.full_bytes);
        let released = acks.released(data.at.time_ns, data.end, route.to_sender_ns, pace);
        let by_other = data.sharing.by_other && released == Released::ByNone;
        if let Some(cause) = shared_window(data.sharing).filter(|_| by_other) {
            return Some((cause, INFERRED));
        }
        let is_of_link = data.is_full()
            && data.segments == 1
            && !data.opens_hole
            && released == Released::ByNone
            && !by_other;
        // What was in the sender's buffer waited for nothing but the link.
        let on_link = self.on_link_ns(data.bytes, data.segments, data.full_bytes);
        let may_be_link =
            on_link.is_none_or(|takes_ns| gap <= takes_ns.saturating_add(self.link_slack_ns()));
        let may_be_pace = self.has_more
            && may_be_link
            && !route.is_at_sender
            && self.pace.may_be_slow(gap, rtt, data.full_bytes);
        if is_of_link && was_full && self.pace.is_steady_with(gap, rtt, data.full_bytes) {
            self.pace.begins_with(gap);
            self.was_pace(gap);
            return None;
        }
        if is_of_link && may_be_pace {
            self.pace.guess(gap);
            return None;
        }
        if are_full && released == Released::ByNone && self.pace.may_begin_with(gap) {
            self.pace.learn(gap, data.segments);
            return None;
        }
        let limit = self.limit_at(data, route);
        if gap >= TIMEOUT_MIN_NS.saturating_add(rtt) {
            self.flights.was_idle();
            self.window.was_idle();
        }
        let told = self.cause_of(released, limit, (data, was_full));
        if !by_other && released != Released::ByAck {
            return Some(told);
        }
        let shared_limit = if data.sharing.had_loss {
            Limit::CongestionAvoidance
        } else {
            Limit::SlowStart
        };
        // Nagle's algorithm holds no full segment, nor does it wait for what comes on other connections.
        let is_of_window = was_full || by_other || data.is_full();
        let shared = self.cause_of(Released::ByAck, shared_limit, (data, is_of_window));
        if data.sharing.is_shared {
            return Some(shared);
        }
        self.if_shared = Some(shared.0);
        Some(told)
    }

    /// Whether data followed the segment before in the pace of the path, for all that is known.
    fn is_in_burst(&self, gap: i64, data: Data, route: Route, acks: &Acks) -> bool {
        if gap > self.pace.burst_max_ns(data.segments, route.rtt_ns()) {
            return false;
        }
        let was_held_for_others = shared_window(data.sharing).is_some() && gap > service_ns(data);
        let was_held = was_held_for_others
            || route.is_at_sender && self.was_let_go(gap, data, route, acks)
            || self.outlasts_the_link(gap, data, route, acks);
        !was_held
    }

    /// Whether an ACK let data go after a pause that is longer than the link takes, as others have shown: in a
    /// rhythm that its sender had once the ACKs keep coming.
    fn outlasts_the_link(&self, gap: i64, data: Data, route: Route, acks: &Acks) -> bool {
        let rtt = route.rtt_ns();
        !route.is_at_sender
            && gap > Pace::default().burst_max_ns(data.segments, rtt)
            && self.arrivals.is_outlasted(gap, data.bytes, data.segments)
            && acks.released(data.at.time_ns, data.end, route.to_sender_ns, 0) == Released::ByAck
    }

    /// What the distance to the segment before tells of the slowest link: who waits for the ACK of what came
    /// before waits for a round trip, and a rhythm of delayed ACKs is no link's.
    fn learn_arrivals(&mut self, data: Data, route: Route, acks: &Acks) {
        let Some((sent, _)) = self.sent else {
            return;
        };
        if route.is_at_sender || data.opens_hole {
            return;
        }
        let gap = data.at.time_ns.saturating_sub(sent.time_ns);
        let rtt = route.rtt_ns();
        let released = || acks.released(data.at.time_ns, data.end, route.to_sender_ns, 0);
        if gap < rtt || released() == Released::ByNone {
            let start = data.end.saturating_sub(i64::from(data.bytes));
            self.arrivals_before = Some((start, data.end, self.arrivals));
            self.arrivals
                .came_after(gap, data.bytes, data.segments, rtt);
        }
    }

    /// Up to when a piece was the pace of the slowest link, by all that is known of it now.
    pub(super) fn paced_until(&self, piece: &Piece) -> Option<Moment> {
        let waited = piece.waited?;
        let takes = self.on_link_ns(waited.bytes, waited.segments, self.full_bytes)?;
        let until_ns = waited.since_ns.saturating_add(takes);
        if piece.end.time_ns <= until_ns.saturating_add(self.link_slack_ns()) {
            return Some(piece.end);
        }
        (until_ns > piece.start.time_ns).then_some(Moment {
            time_ns: until_ns,
            ..piece.start
        })
    }

    /// How long the ACK of the segment before was delayed, if that was a full one and alone.
    fn ack_delay(&self, data: Data, route: Route, acks: &Acks) -> i64 {
        let alone = self.sent.filter(|(_, was_full)| *was_full);
        let alone = alone.filter(|_| shared_window(data.sharing).is_none());
        let Some((before, _)) = alone.filter(|_| !route.is_at_sender) else {
            return 0;
        };
        let end = data.end.saturating_sub(i64::from(data.bytes));
        let start = end.saturating_sub(i64::from(data.full_bytes));
        let delay = acks.delay_of(before.time_ns, start, end);
        delay
            .filter(|delay| *delay >= DELAYED_ACK_MIN_NS)
            .unwrap_or(0)
    }

    /// Whether an ACK let data go after a short wait, which shows at the sender: a paced one does not wait
    /// for it.
    fn was_let_go(&self, gap: i64, data: Data, route: Route, acks: &Acks) -> bool {
        let released = || acks.released(data.at.time_ns, data.end, route.to_sender_ns, 0);
        gap > BURST_MIN_NS && !matches!(released(), Released::ByNone | Released::Unknown)
    }

    /// What limits the sender that has waited until it sent `data`.
    fn limit_at(&mut self, data: Data, route: Route) -> Limit {
        self.flights.waits();
        let start = data.end.saturating_sub(i64::from(data.bytes));
        self.window.waits(start, self.acked);
        if route.is_at_sender {
            self.window.limit()
        } else {
            self.flights.limit()
        }
    }

    /// Gaps that were taken for the application's were the pace of a slow link, on which a full segment
    /// takes `gap`. The newest may have had its part of a wait before it.
    fn was_pace(&mut self, gap: i64) {
        let (idle, burst) = (self.words.idle, self.words.burst);
        let most = gap.saturating_add(gap / SAME_PACE_SHARE);
        let newest = self.pieces.len().saturating_sub(1);
        for (at, piece) in self.pieces.iter_mut().enumerate() {
            let length = piece.end.time_ns.saturating_sub(piece.start.time_ns);
            let longest = if at == newest {
                gap.saturating_mul(2)
            } else {
                most
            };
            if piece.cause == idle && length <= longest {
                piece.cause = burst;
            }
        }
    }

    /// What the distances of segments tell that data takes on the slowest link: those of this connection, or else
    /// those of all between the two hosts.
    fn on_link_ns(&self, bytes: u32, segments: u32, full_bytes: u32) -> Option<i64> {
        let both = [self.arrivals, self.shared_arrivals];
        both.into_iter()
            .find_map(|link| link.takes_ns(bytes, segments, full_bytes))
    }

    /// As much later a segment may come that nothing held.
    fn link_slack_ns(&self) -> i64 {
        let both = [self.arrivals, self.shared_arrivals];
        let known = both
            .into_iter()
            .find(|link| link.takes_ns(0, 1, self.full_bytes).is_some());
        known.map_or(0, Arrivals::slack_ns)
    }

    /// Time that data takes on the slowest link.
    fn takes(&self, bytes: u32, segments: u32, full_bytes: u32) -> i64 {
        if let Some(takes_ns) = self.on_link_ns(bytes, segments, full_bytes) {
            return takes_ns;
        }
        if segments == 1 {
            self.pace.of_bytes(bytes, full_bytes)
        } else {
            self.pace.of(segments)
        }
    }

    /// From when on data could have gone, if the window was opened before the sender's last probe.
    fn persist(&self, data: Data, route: Route, acks: &Acks) -> Option<i64> {
        let (opened_ns, probed_ns) = (acks.opened_ns()?, self.probed_ns?);
        let allowed_ns = opened_ns.saturating_add(route.to_sender_ns);
        (allowed_ns <= probed_ns && probed_ns < data.at.time_ns).then_some(allowed_ns)
    }

    /// A probe of a window of zero went by.
    pub(super) fn probe(&mut self, at: Moment) {
        self.probed_ns = Some(at.time_ns);
    }

    fn cause_of(
        &self,
        released: Released,
        limit: Limit,
        (data, was_full): (Data, bool),
    ) -> (Cause, f64) {
        match (released, limit) {
            (Released::ByOpenedWindow, _) => (Cause::SendLimitedZeroWindow, SEEN),
            (Released::ByReading, _) => (Cause::ClientNotReading, INFERRED),
            (Released::ByWindow, _) => (Cause::SendLimitedReceiveWindow, INFERRED),
            (Released::ByAck, Limit::SendBuffer) => (Cause::SendLimitedSendBuffer, INFERRED),
            // A window that is used up ends with a full segment (RFC 9293, 3.8.6.2.1).
            (Released::ByAck, Limit::SlowStart) if was_full => {
                (Cause::SendLimitedSlowStart, INFERRED)
            }
            // Data that lay in the buffer, and of which a full segment waited, waited for the window.
            (Released::ByAck, Limit::None)
                if was_full && self.has_more && data.is_full() && !self.settles_by_ack =>
            {
                (Cause::SendLimitedSlowStart, INFERRED)
            }
            (Released::ByAck, Limit::CongestionAvoidance) if was_full => {
                (Cause::SendLimitedCwnd, INFERRED)
            }
            (Released::ByNone, _) if data.recovery.is_some() => (repair(data.recovery), INFERRED),
            (Released::Unknown, _) => (Cause::Unobserved, ASSUMED),
            // A client has its request in one piece, and what was not pushed lay in the buffer.
            (Released::ByNone, _) if self.has_more && self.words.burst == Cause::RequestSend => {
                (self.words.burst, INFERRED)
            }
            (Released::ByNone, _) => (self.words.idle, INFERRED),
            // An ACK let it go, but neither window was used up: maybe Nagle's algorithm, maybe chance.
            (Released::ByAck, _) => (Cause::Unexplained, ASSUMED),
        }
    }

    /// Data was sent again that the receiver may have lacked. `in_order` is up to where all is there now,
    /// if anything is still missing.
    pub(super) fn resent(&mut self, data: Resent, in_order: Option<i64>, route: Route) {
        self.flights.had_loss();
        self.window.had_loss();
        let cause = repair(data.recovery);
        self.sent = Some((data.at, true));
        if data.start < self.acked {
            // The receiver has it: a copy that it needs no more holds nothing up.
            return;
        }
        let left = in_order.filter(|hole| !self.settles_by_ack && data.start < *hole);
        if let Some(hole) = left.filter(|_| !self.pending.is_empty()) {
            self.fills_first_hole(data, cause, route);
            self.has_hole = true;
            return self.settle(hole, data.at, route);
        }
        let lost = self.pending.iter_mut().find(|sent| sent.end > data.start);
        if let Some(lost) = lost {
            lost.stall.get_or_insert((cause, data.at.frame));
            if self.settles_by_ack {
                return;
            }
            self.has_hole = in_order.is_some();
            self.settle(in_order.unwrap_or(i64::MAX), data.at, route);
        } else if let Some(came) = self.came.filter(|came| came.time_ns < data.at.time_ns) {
            // It was seen on its way, and lost behind the observation point.
            self.push(Piece {
                start: came,
                end: data.at,
                cause,
                confidence: INFERRED,
                if_shared: None,
                waited: None,
            });
            self.came = Some(data.at);
        }
    }

    /// Data came, and more behind it is missing: what holds up the rest is another repair, of which the sender
    /// may have learnt otherwise.
    fn fills_first_hole(&mut self, data: Resent, cause: Cause, route: Route) {
        let Some(front) = self.pending.front_mut() else {
            return;
        };
        let behind = *front;
        front.cause = None;
        front.gap_ns = 0;
        let came = self.came.unwrap_or(behind.at);
        let start = behind.at.later(came);
        self.plain(behind, came, start, route);
        self.push(Piece {
            start,
            end: data.at,
            cause,
            confidence: SEEN,
            if_shared: None,
            waited: None,
        });
        self.came = Some(data.at.later(start));
    }

    /// The receiver has acknowledged up to `acked`.
    pub(super) fn acknowledged(&mut self, at: Moment, acked: i64, route: Route) {
        self.acked = self.acked.max(acked);
        if self.pending.is_empty() {
            return;
        }
        if !self.settles_by_ack {
            // What was never captured is there all the same.
            self.settle(acked, at, route);
            self.has_hole &= !self.pending.is_empty();
            return;
        }
        self.learn_link(at, acked, route);
        self.hear_of_tails(acked);
        self.waiting_acks.push_back((at, acked));
        if self.link.is_known() || self.waiting_acks.len() > WAITING_ACKS_MAX {
            self.settle_waiting(route);
        }
    }

    /// What ACKs of the first data tell, which waited for what later ones tell of the slowest link.
    pub(super) fn settle_waiting(&mut self, route: Route) {
        while let Some((at, acked)) = self.waiting_acks.pop_front() {
            self.settle_by_ack(at, acked, route);
        }
    }

    /// The ACK went out when the newest segment that it covers came, unless it was delayed; those before
    /// came in the pace of the path. What was lost on the way was there no sooner than the ACK tells.
    fn settle_by_ack(&mut self, at: Moment, acked: i64, route: Route) {
        let covered = || self.pending.iter().take_while(|sent| sent.end <= acked);
        let bytes = covered().fold(0_u32, |sum, sent| sum.saturating_add(sent.bytes));
        let at_once = self.full_bytes.saturating_mul(DELAYED_ACK_SEGMENTS);
        let may_be_delayed = bytes < at_once;
        let was_repaired = covered().any(|sent| sent.stall.is_some());
        while let Some(data) = self.pending.front().copied() {
            if data.end > acked {
                return;
            }
            self.pending.pop_front();
            let is_newest = self.pending.front().is_none_or(|next| next.end > acked);
            let expected = self.expected_ns(data, route);
            let delay = at.time_ns.saturating_sub(expected);
            let jitter = (route.rtt_ns() / JITTER_RTT_SHARE).min(DELAYED_ACK_MIN_NS);
            let is_delayed =
                may_be_delayed && delay > self.link.jitter_ns(self.full_bytes).max(jitter);
            let time_ns = if was_repaired || (is_newest && !is_delayed) {
                at.time_ns
            } else {
                expected.min(at.time_ns)
            };
            self.append(data, time_ns, route);
        }
    }

    /// An ACK of what a timer sent again that covers what was sent behind it, and not again, tells that this
    /// had come: the loss was not the end of a flight, though no duplicate ACK reached the sender.
    fn hear_of_tails(&mut self, acked: i64) {
        let covered = self.pending.partition_point(|sent| sent.end <= acked);
        let mut arrived_frame = None;
        for sent in self.pending.range_mut(..covered).rev() {
            match sent.stall.as_mut() {
                None => arrived_frame = arrived_frame.or(Some(sent.at.frame)),
                Some((cause, resent)) if *cause == Cause::StallTailLoss => {
                    if arrived_frame.is_some_and(|arrived| arrived < *resent) {
                        *cause = Cause::StallRetransmissionTimeout;
                    }
                }
                Some(_) => {}
            }
        }
    }

    /// What an ACK tells of the path and its slowest link.
    fn learn_link(&mut self, at: Moment, acked: i64, route: Route) {
        let learnt = std::mem::replace(&mut self.learnt_until, acked);
        let from = self.pending.partition_point(|sent| sent.end <= learnt);
        let covered = self.pending.range(from..);
        for sent in covered.take_while(|sent| sent.end <= acked) {
            if sent.begins_burst {
                self.burst = LinkBurst::from(sent.at.time_ns);
                let elapsed = at.time_ns.saturating_sub(sent.at.time_ns);
                if sent.end == acked && sent.stall.is_none() {
                    self.link.sample(elapsed, sent.bytes);
                }
            }
            if sent.stall.is_some() {
                self.burst = LinkBurst::default();
            }
            self.burst.covers(sent.bytes, sent.segments);
        }
        let least = Least {
            elapsed_ns: route.to_receiver_ns,
            bytes: self.link.least_bytes(route.to_receiver_ns),
        };
        if let Some(bound) = self.burst.acknowledged(at.time_ns, least, self.full_bytes) {
            self.link.learn(bound, route.to_receiver_ns);
        }
    }

    /// The way of the smallest packets to the receiver and back.
    pub(super) fn way_ns(&self, route: Route) -> i64 {
        if route.is_at_sender {
            self.link.way_ns(route.to_receiver_ns)
        } else {
            route.to_receiver_ns
        }
    }

    /// When data comes that nothing but the path and the data before it holds up.
    fn expected_ns(&self, data: Pending, route: Route) -> i64 {
        let way = self
            .way_ns(route)
            .saturating_add(self.link.of_payload(data.bytes, data.segments));
        let arrived = data.at.time_ns.saturating_add(way);
        self.came.map_or(arrived, |came| {
            let behind = came
                .time_ns
                .saturating_add(self.link.of(data.bytes, data.segments));
            behind.max(arrived)
        })
    }

    /// The receiver has all data up to `end`.
    fn settle(&mut self, end: i64, at: Moment, route: Route) {
        while let Some(data) = self.pending.front().copied() {
            if data.end > end {
                return;
            }
            self.pending.pop_front();
            self.append(data, at.time_ns, route);
        }
    }

    fn append(&mut self, data: Pending, time_ns: i64, route: Route) {
        let frame = data.at.frame;
        let arrived_ns = if self.settles_by_ack {
            self.expected_ns(data, route)
        } else {
            data.at.time_ns
        };
        let arrived_ns = arrived_ns.min(time_ns);
        let came = self.came.unwrap_or(Moment {
            time_ns: arrived_ns,
            frame,
        });
        let end = Moment {
            time_ns: time_ns.max(came.time_ns),
            frame,
        };
        let undisturbed = Moment {
            time_ns: arrived_ns.clamp(came.time_ns, end.time_ns),
            frame,
        };
        let until = if data.stall.is_some() {
            undisturbed
        } else {
            end
        };
        self.plain(data, came, until, route);
        if let Some((cause, frame)) = data.stall {
            self.push(Piece {
                start: until,
                end: Moment { frame, ..end },
                cause,
                confidence: SEEN,
                if_shared: None,
                waited: None,
            });
        }
        self.came = Some(end);
        self.note_extents(data.end);
    }

    /// Time before a segment that was not lost: first the pace, then the wait.
    fn plain(&mut self, data: Pending, start: Moment, end: Moment, route: Route) {
        let gap = end.time_ns.saturating_sub(start.time_ns);
        let (pace, most) = self.pace_of(data, route);
        let is_queue = self.settles_by_ack && gap > most.max(PACE_STRETCHED_MAX_NS);
        let wait = data
            .cause
            .or_else(|| is_queue.then_some((Cause::NetworkQueueing, INFERRED)));
        let burst_end = match wait {
            Some(_) => {
                let released = end.time_ns.saturating_sub(data.gap_ns);
                let paced = start.time_ns.saturating_add(pace);
                paced.max(released).min(end.time_ns)
            }
            None => end.time_ns,
        };
        // The next packet is the one that was waited for.
        let middle = Moment {
            time_ns: burst_end,
            frame: if wait.is_some() && (self.settles_by_ack || burst_end < end.time_ns) {
                start.frame
            } else {
                end.frame
            },
        };
        self.push(Piece {
            start,
            end: middle,
            cause: self.words.burst,
            confidence: INFERRED,
            if_shared: None,
            waited: None,
        });
        let Some((cause, confidence)) = wait else {
            return;
        };
        let waited = Waited {
            since_ns: start.time_ns,
            bytes: data.bytes,
            segments: data.segments,
        };
        let Some(persists_from_ns) = data.persists_from_ns else {
            let is_window = matches!(cause, Cause::SendLimitedSlowStart | Cause::SendLimitedCwnd);
            let is_of_sharing = data.is_shared && is_window;
            let waited = Some(waited).filter(|_| !self.settles_by_ack && !is_of_sharing);
            // A window of one segment waits for its round trip, and for its receiver's timer.
            let is_delayed = is_window && data.ack_delay_ns > 0;
            let delayed_ns = end.time_ns.saturating_sub(data.ack_delay_ns);
            let delayed = Moment {
                time_ns: delayed_ns.max(middle.time_ns),
                ..middle
            };
            let border = if is_delayed { delayed } else { end };
            let delay = Cause::StallDelayedAckFirstSegment;
            for (start, end, cause) in [(middle, border, cause), (border, end, delay)] {
                self.push(Piece {
                    start,
                    end,
                    cause,
                    confidence,
                    if_shared: data.if_shared,
                    waited,
                });
            }
            return;
        };
        let opened = Moment {
            time_ns: persists_from_ns.clamp(middle.time_ns, end.time_ns),
            frame: start.frame,
        };
        self.push(Piece {
            start: middle,
            end: opened,
            cause: Cause::SendLimitedZeroWindow,
            confidence: SEEN,
            if_shared: None,
            waited: None,
        });
        self.push(Piece {
            start: opened,
            end,
            cause: Cause::StallPersist,
            confidence: INFERRED,
            if_shared: None,
            waited: None,
        });
    }

    /// What data takes on the slowest link, and what that with its jitter may be taken for.
    fn pace_of(&self, data: Pending, route: Route) -> (i64, i64) {
        if self.settles_by_ack {
            let pace = self.link.of(data.bytes, data.segments);
            (
                pace,
                self.link.jitter_ns(self.full_bytes).saturating_add(pace),
            )
        } else {
            let most = self.pace.burst_max_ns(data.segments, route.rtt_ns());
            let pace = self.takes(data.bytes, data.segments, self.full_bytes);
            let least = if data.is_shared { data.service_ns } else { 0 };
            (pace.max(least), most)
        }
    }

    fn push(&mut self, piece: Piece) {
        if piece.end.time_ns <= piece.start.time_ns {
            return;
        }
        let is_burst = piece.cause == self.words.burst;
        let continued = self.pieces.back_mut().filter(|last| {
            is_burst && last.cause == piece.cause && last.end.time_ns == piece.start.time_ns
        });
        if let Some(last) = continued {
            last.end = piece.end;
            return;
        }
        if self.pieces.len() >= PIECES_MAX {
            let oldest = self.pieces.pop_front();
            self.forgotten_until_ns = oldest.map(|oldest| oldest.end.time_ns);
        }
        self.pieces.push_back(piece);
    }

    /// A response begins at `start`.
    pub(super) fn opens(&mut self, start: i64) {
        // What is asked for in advance is answered as regularly as the server works.
        let opening = self.arrivals_before.take();
        if let Some((_, _, before)) = opening.filter(|it| (it.0..it.1).contains(&start)) {
            self.arrivals = before;
        }
        if self.settles_by_ack && !self.pending.is_empty() {
            self.extents.push_back(Extent {
                start,
                end: None,
                first: None,
                last: None,
            });
        }
    }

    /// The response that begins at `start` ends before `end`.
    pub(super) fn closes(&mut self, start: i64, end: i64) {
        let extent = self.extents.iter_mut().find(|it| it.start == start);
        if let Some(extent) = extent {
            extent.end = Some(end);
        }
    }

    fn note_extents(&mut self, end: i64) {
        for extent in &mut self.extents {
            if extent.first.is_none() && end > extent.start {
                extent.first = self.came;
            }
            if extent.last.is_none() && extent.end.is_some_and(|last| end >= last) {
                extent.last = self.came;
            }
        }
    }

    /// When the response that begins at `start` came, if ACKs tell; it is asked for once.
    pub(super) fn take_extent(&mut self, start: i64) -> Option<Extent> {
        while self.extents.front().is_some_and(|it| it.start < start) {
            self.extents.pop_front();
        }
        if self.extents.front()?.start == start {
            self.extents.pop_front()
        } else {
            None
        }
    }

    /// When the receiver had the newest data that is settled.
    pub(super) fn latest(&self) -> Option<Moment> {
        self.came
    }

    /// The longest time that two segments together may take to come.
    pub(super) fn burst_max_ns(&self, route: Route) -> i64 {
        let bytes = self.full_bytes.saturating_mul(DELAYED_ACK_SEGMENTS);
        let on_link = self.link.of(bytes, DELAYED_ACK_SEGMENTS);
        let most = self.pace.burst_max_ns(DELAYED_ACK_SEGMENTS, route.rtt_ns());
        most.max(on_link)
    }

    /// The pieces that reach into the time from `start` to `end`.
    pub(super) fn between(&self, start: i64, end: i64) -> impl Iterator<Item = &Piece> {
        let from = self
            .pieces
            .partition_point(|piece| piece.end.time_ns <= start);
        self.pieces
            .range(from..)
            .take_while(move |piece| piece.start.time_ns < end)
    }

    /// Nothing before `time_ns` is asked for any more.
    pub(super) fn forget_before(&mut self, time_ns: i64) {
        while self
            .openings
            .front()
            .is_some_and(|it| it.time_ns <= time_ns)
        {
            self.openings.pop_front();
        }
        while self
            .pieces
            .front()
            .is_some_and(|piece| piece.end.time_ns <= time_ns)
        {
            self.pieces.pop_front();
        }
    }

    /// Up to when pieces were given up, if there were too many.
    pub(super) fn forgotten_until_ns(&self) -> Option<i64> {
        self.forgotten_until_ns
    }

    /// Memory that it takes.
    pub(super) fn held_bytes(&self) -> u64 {
        let pending = size_of::<Pending>().saturating_mul(self.pending.capacity());
        let pieces = size_of::<Piece>().saturating_mul(self.pieces.capacity());
        let extents = size_of::<Extent>().saturating_mul(self.extents.capacity());
        let openings = size_of::<Opening>().saturating_mul(self.openings.capacity());
        pending
            .saturating_add(pieces)
            .saturating_add(extents)
            .saturating_add(openings) as u64
    }
}

/// What the slowest link takes for a segment, by what it took for full ones of any connection to the host.
fn service_ns(data: Data) -> i64 {
    let full = i64::from(data.full_bytes.max(1));
    let bytes = i64::from(data.bytes).min(full);
    let service_ns = data.sharing.service_ns.unwrap_or(0);
    service_ns
        .saturating_mul(bytes)
        .checked_div(full)
        .unwrap_or(0)
}

/// The window that connections share, if an ACK of another of them made the room for data in it.
fn shared_window(sharing: Sharing) -> Option<Cause> {
    let window = if sharing.had_loss {
        Cause::SendLimitedCwnd
    } else {
        Cause::SendLimitedSlowStart
    };
    Some(window).filter(|_| sharing.is_shared && sharing.by_other)
}

/// What data waited for that was sent again: how its sender learnt of the loss, as `recoveries` judges it.
fn repair(recovery: Option<RecoveryKind>) -> Cause {
    match recovery {
        Some(RecoveryKind::Reordering) => Cause::NetworkReordering,
        Some(RecoveryKind::TailLoss | RecoveryKind::TailLossProbe) => Cause::StallTailLoss,
        Some(RecoveryKind::Timeout) => Cause::StallRetransmissionTimeout,
        _ => Cause::StallFastRecovery,
    }
}

//! Pauses inside messages: where a sender's data stopped, and what set it going again.
//!
//! Theory of operation. The sender's reasons are not in the packets, but their traces are: a
//! segment that was held for an acknowledgment leaves when that acknowledgment arrives. Seen from
//! the observation point, the released segment comes one round trip to its sender after the releasing
//! ACK went by, wherever the capture was taken. So each pause is recorded with the ACK whose
//! distance is nearest to that (the latest ACK is the wrong one on long paths), with the short
//! segment that this ACK acknowledges, and with what was outstanding. Whether it is a stall is for
//! the detectors to say.

mod behind_others;
mod busy_link;
mod deciding;
mod even_gaps;
mod flight;
mod lowered_window;
mod messages;
mod nagle_disproofs;
mod on_link;
mod pause;
mod settled;
#[cfg(test)]
mod test_path;
mod used;

use std::collections::VecDeque;

use tcptrace_tcp::Acknowledged;

use crate::bottleneck::Bottleneck;
use crate::finished_message::FinishedMessage;
use crate::segmentation::Counted;
use crate::serialization::Serialization;
use busy_link::BusyLink;
use even_gaps::EvenGaps;
use nagle_disproofs::Suspicion;
use pause::{Ending, OpenPause, Opening, Pause, PeerAck, ShortSegment};
use used::Used;

/// Shorter pauses before a short segment are the pace of the link and of the scheduler.
const PAUSE_MIN_NS: i64 = 1_000_000;
/// A full segment is held only by the delayed ACK of a small window. No receiver in use delays by
/// less (10 ms is the least that Linux can be set to), and slow links space full segments by this.
const FULL_SEGMENT_PAUSE_MIN_NS: i64 = 5_000_000;
/// Data that follows an ACK by more than this beyond what the path takes was not released by it; on
/// a long path a share of it, for round trips vary. The detectors look closer.
const RELEASE_MAX_NS: i64 = 10_000_000;
const RELEASE_RTT_SHARE: i64 = 8;
/// ACKs that are remembered: at one ACK for two segments, a flight of 1500 kB.
const ACKS_MAX: usize = 512;
/// Pauses of one response that wait for its end.
const OPEN_PAUSES_MAX: usize = 4096;
/// ACKs that may have ended a pause whose length is not known yet: more than two come of a delayed one.
const UNDECIDED_ACKS_MAX: usize = 4;
/// How much older than one round trip an ACK may be and still be the one that released data: the
/// worst scheduling delay seen on busy hosts.
const ACK_AGE_SLACK_NS: i64 = 50_000_000;
/// An ACK must be this much too late to have released a short segment before the segment counts as
/// sent without it. Packets of one host are captured out of their true order by less.
const DISPROOF_MARGIN_NS: i64 = 500_000;

/// A data segment that carries new bytes.
#[derive(Clone, Copy, Debug)]
pub struct SentData {
    pub frame: u64,
    pub time_ns: i64,
    /// Stream offsets: the flow's first byte is at 0.
    pub start: u64,
    pub end: u64,
    pub bytes: u32,
    pub has_fin: bool,
}

/// What is known of the flow when a data segment comes by.
#[derive(Clone, Copy, Debug)]
pub struct Path {
    pub segment_bytes: u32,
    /// From the observation point to the sender of the data and back.
    pub sender_rtt_ns: Option<i64>,
    /// ... and to its receiver and back.
    pub receiver_rtt_ns: Option<i64>,
    pub receive_window: u64,
    pub in_loss_recovery: bool,
    /// How much longer than a packet without payload the data at hand takes on the slowest link, as far as its
    /// pace is known. Near the receiver that much passes until it is seen.
    pub takes_ns: i64,
    /// How long the link takes for all of it, headers and all: no sooner behind what came before it does it come.
    pub service_ns: i64,
    /// How much longer than one without payload a full segment takes on the link where that is behind the observation
    /// point: as long as one that comes on it, for what links carry towards a client they carry no slower.
    pub there_ns: i64,
    /// How long it may have stood before that link, behind what other connections were sent.
    pub queued_ns: i64,
    /// The least that the sender's window is by the ACKs that it had; 0 if that is not known.
    pub window_bytes: u64,
    /// ... or that it began with, by what other connections had in flight at first.
    pub initial_window_bytes: u64,
    /// The sender of the data offered SACK on its SYN.
    pub sender_permits_sack: bool,
    /// The sender's connections share their window, and an ACK of another one made the room for the data at hand.
    pub is_let_go_by_other: bool,
    /// ... or more than chance speaks for that they share it: what one had in flight does not show how large it is.
    pub may_share_window: bool,
    /// When the ACK went by since which the window that all share had room for the data at hand, if that was not the
    /// one that let it go.
    pub had_room_ns: Option<i64>,
    /// Nothing that went by later had its sender heard, if timestamps tell.
    pub heard_until_ns: Option<i64>,
    /// When the ACK went by that made room for the data in its sender's buffer, if that had been full.
    pub made_buffer_room_ns: Option<i64>,
    /// How large the window was when the segment before had left, if a loss had lowered it, as RFC 5681 has it grow.
    pub lowered_bytes: Option<u64>,
    /// When the data would have come that was written then, if its application writes in a rhythm.
    pub written_ns: Option<i64>,
    /// The message is over when it has left its sender, as a request is: what waits there loses the time until it
    /// leaves, however long the queue is that it would have met.
    pub is_over_when_sent: bool,
}

impl Path {
    /// Whether a payload of this size ends in a segment that is not full. Offload shows several
    /// segments as one packet; its last part tells.
    fn is_short(&self, bytes: u32) -> bool {
        self.segment_bytes > 0 && bytes.checked_rem(self.segment_bytes) != Some(0)
    }

    /// How large the window was when the segment before had left, if a loss had lowered it: those who offer SACK came to
    /// ask whether a window is used before they let it grow.
    fn lowered_bytes(&self) -> Option<u64> {
        let grows = !self.sender_permits_sack && !self.may_share_window;
        self.lowered_bytes.filter(|_| grows)
    }

    /// Whether the sender of the data at hand may have heard what went by then.
    fn may_have_heard(&self, time_ns: i64) -> bool {
        let until_ns = self.heard_until_ns.unwrap_or(i64::MAX);
        self.is_nearer_to_sender() || time_ns <= until_ns
    }

    /// Whether most of the path, and so most likely its slowest link, is still before the data.
    fn is_nearer_to_sender(&self) -> bool {
        self.sender_rtt_ns.unwrap_or(0) < self.receiver_rtt_ns.unwrap_or(0)
    }
}

/// Follows the data of one direction of a flow.
#[derive(Debug, Default)]
pub struct PauseTracker {
    previous: Option<SentData>,
    /// Time between the two data segments before this one, if both are of one message.
    spacing_ns: i64,
    /// Something was sent again since the data segment before.
    was_disturbed: bool,
    full_gaps: EvenGaps,
    /// When something was sent again last.
    resent_ns: Option<i64>,
    suspicions: VecDeque<Suspicion>,
    shorts: VecDeque<ShortSegment>,
    acks: VecDeque<PeerAck>,
    openings: VecDeque<Opening>,
    open: Vec<OpenPause>,
    counted: Counted,
    segment_bytes: u32,
    largest_flight_bytes: u64,
    /// What was in flight at the sender with the segment before, and the window then.
    last_flight_bytes: u64,
    last_window_bytes: u64,
    /// ... since something was lost, and since the sender was idle, too: it may have thrown its window away then.
    used: Used,
    used_since_idle: Used,
    had_loss: bool,
    /// Where what had been sent ends when something was sent again: until that is acknowledged it recovers.
    recovery_end: u64,
    /// ... and where what was sent again last does.
    repaired_end: Option<u64>,
    /// The least that the window was then, since the sender was idle.
    shown_window_bytes: u64,
    acks_counted: u64,
    /// Pauses whose end is to be told when the pace of the link is known.
    undecided: Vec<Pause>,
    /// The messages of these that are complete, and those after them.
    untold: VecDeque<(Opening, FinishedMessage)>,
    /// The slowest link, where it is before the observation point.
    behind: Serialization,
    /// The longest that it took for a segment.
    takes_ns: i64,
    link: Bottleneck,
    /// The link to the observation point, as busy as what comes on it tells: ACKs come on it.
    ack_link: BusyLink,
    /// The newest ACK that the sender had, and where what it sent since begins.
    since_ack: Option<(u64, u64)>,
    /// Times that the sender sent a short segment behind full ones that were unacknowledged, which the algorithm
    /// as RFC 896 has it does not let go.
    full_disproofs: u32,
    /// Times that the sender held a short segment for the ACK of full ones, though its window had room.
    holds_behind_full: u32,
    /// ... or for the ACK of a short one, as Linux has the algorithm, too (Minshall).
    holds_behind_short: u32,
    /// Times that the sender sent a short segment while another one was unacknowledged: proof that
    /// Nagle's algorithm was off at that moment.
    pub nagle_disproofs: u32,
}

/// What the receiver acknowledged, and when.
#[derive(Clone, Copy, Debug)]
pub struct AckSeen {
    pub frame: u64,
    pub time_ns: i64,
    pub acknowledged: Acknowledged,
    pub covered_ns: i64,
    pub outstanding_segments: u32,
    pub outstanding_bytes: u64,
    /// Up to where the receiver had offered room before.
    pub offered_until: i64,
    /// What its packet carried itself.
    pub bytes: u32,
    /// It answers a SYN: until then the sender of that may send no more.
    pub opens_connection: bool,
}

impl PauseTracker {
    /// Whether data was sent before.
    pub fn has_data(&self) -> bool {
        self.previous.is_some()
    }

    /// Gives back all memory but the counts: the flow is over.
    pub fn release(&mut self) {
        *self = PauseTracker {
            nagle_disproofs: self.nagle_disproofs,
            ..PauseTracker::default()
        };
    }

    /// Memory that what is remembered takes.
    #[inline]
    #[must_use]
    pub fn held_bytes(&self) -> u64 {
        let acks = self.acks.len().saturating_mul(size_of::<PeerAck>());
        let open = self.open.len().saturating_mul(size_of::<OpenPause>());
        let openings = self.openings.len().saturating_mul(size_of::<Opening>());
        let pause = size_of::<Pause>()
            .saturating_add(UNDECIDED_ACKS_MAX.saturating_mul(size_of::<Ending>()));
        let undecided = self.undecided.len().saturating_mul(pause);
        let untold = size_of::<(Opening, FinishedMessage)>().saturating_mul(self.untold.len());
        acks.saturating_add(open)
            .saturating_add(openings)
            .saturating_add(untold)
            .saturating_add(undecided) as u64
    }

    /// The receiver sent data itself, which comes on the link that its ACKs come on.
    pub fn peer_sent(&mut self, time_ns: i64, bytes: u32, path: &Path) {
        let full = (path.there_ns, path.segment_bytes);
        self.ack_link.came(time_ns, bytes, full);
    }

    /// The receiver acknowledged new data.
    pub fn acknowledged(&mut self, ack: AckSeen, path: &Path) {
        let stream = |offset: i64| u64::try_from(offset.saturating_sub(1)).unwrap_or(0);
        let sender_rtt_ns = path.sender_rtt_ns.unwrap_or(0);
        let too_old_ns = self.acks_are_asked_for_since(ack.time_ns, path);
        // One older ACK is kept: it bounds what the next one newly acknowledges.
        while self.acks.len() >= ACKS_MAX
            || self
                .acks
                .get(1)
                .is_some_and(|second| second.time_ns < too_old_ns)
        {
            self.acks.pop_front();
        }
        let after = stream(ack.acknowledged.after);
        self.judge_suspicions(after, ack.time_ns, sender_rtt_ns);
        if path.is_nearer_to_sender() {
            let left_ns = ack
                .time_ns
                .saturating_sub(path.receiver_rtt_ns.unwrap_or(0));
            let next = self.previous.map_or(after, |previous| previous.end);
            self.link
                .acknowledged(after, next, left_ns, path.segment_bytes);
        }
        self.acks_counted = self.acks_counted.saturating_add(1);
        self.acks.push_back(PeerAck {
            number: self.acks_counted,
            frame: ack.frame,
            time_ns: ack.time_ns,
            before: stream(ack.acknowledged.before),
            after,
            covered_ns: ack.covered_ns,
            outstanding_segments: ack.outstanding_segments,
            outstanding_bytes: ack.outstanding_bytes,
            offered_until: stream(ack.offered_until),
            bytes: ack.bytes,
            stood_ns: self.ack_link.stood_ns(
                ack.time_ns,
                ack.bytes,
                (path.there_ns, path.segment_bytes),
            ),
            late_ns: None,
            opens_connection: ack.opens_connection,
            covers_syn: ack.acknowledged.before < 1,
        });
    }

    /// Data was sent again, maybe with more behind it.
    pub fn sent_again(&mut self, data: SentData, path: &Path) {
        self.was_disturbed = true;
        self.resent_ns = Some(data.time_ns);
        self.largest_flight_bytes = 0;
        let acks = self.acks_before_resent(data.start);
        self.window_begins_anew(acks);
        self.recovery_end = self.previous.map_or(0, |previous| previous.end);
        self.repaired_end = Some(data.end.max(self.recovery_end));
        self.link.had_loss();
        if self
            .previous
            .is_some_and(|previous| data.end > previous.end)
        {
            self.has_more_behind_copy(data, path);
        }
    }

    /// What was sent again has new data behind it in one segment, as a timer sends it once more has been written.
    fn has_more_behind_copy(&mut self, data: SentData, path: &Path) {
        // What was short is part of it now.
        self.shorts.retain(|short| short.start < data.start);
        if path.is_short(data.bytes) && !data.has_fin {
            self.remember_short(data);
        }
        self.previous = Some(data);
        self.spacing_ns = 0;
        self.was_disturbed = false;
    }

    /// New data was sent.
    pub fn sent(&mut self, data: SentData, path: &Path, flight_bytes: u64) {
        let is_short = path.is_short(data.bytes);
        self.note_grown_segments(path.segment_bytes);
        self.segment_bytes = path.segment_bytes;
        self.counted.add(data.bytes, path.segment_bytes, is_short);
        if let Some(previous) = self.previous {
            let gap = data.time_ns.saturating_sub(previous.time_ns);
            if !self.may_be_released(previous, data, path) {
                self.behind.came(gap, data.bytes);
            }
            let least = if is_short {
                PAUSE_MIN_NS
            } else {
                FULL_SEGMENT_PAUSE_MIN_NS
            };
            // A pause is told only where its message was seen to open.
            let may_be_inside =
                gap >= least && !self.openings.is_empty() && !path.is_let_go_by_other;
            if may_be_inside && self.open.len() < OPEN_PAUSES_MAX {
                self.consider(previous, data, is_short, path);
            }
            if gap >= PAUSE_MIN_NS {
                self.note_lull(previous, data, path);
            }
            self.full_gaps
                .came(gap, (previous.bytes, data.bytes), path.segment_bytes);
            if self.was_idle(previous, data, path) {
                self.largest_flight_bytes = 0;
                self.used_since_idle.begins_anew(self.acks_counted);
            }
            self.spacing_ns = gap.max(0);
            self.was_disturbed = false;
        }
        self.note_outstanding(data, is_short, path);
        if is_short && !data.has_fin {
            self.note_short(data, path);
        }
        self.previous = Some(data);
        let is_alone = flight_bytes <= u64::from(data.bytes);
        self.link.sent(data.start, data.end, data.time_ns, is_alone);
        self.takes_ns = self.takes_ns.max(path.takes_ns);
        self.note_window(data, path);
        self.largest_flight_bytes = self
            .largest_flight_bytes
            .max(flight_bytes)
            .max(self.last_flight_bytes);
    }
}

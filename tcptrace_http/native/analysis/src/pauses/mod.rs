//! Pauses inside messages: where a sender's data stopped, and what set it going again.
//!
//! Theory of operation. The sender's reasons are not in the packets, but their traces are: a
//! segment that was held for an acknowledgment leaves when that acknowledgment arrives. Seen from
//! the observation point, the released segment comes one round trip to its sender after the releasing
//! ACK went by, wherever the capture was taken. So each pause is recorded with the ACK whose
//! distance is nearest to that (the latest ACK is the wrong one on long paths), with the short
//! segment that this ACK acknowledges, and with what was outstanding. Whether it is a stall is for
//! the detectors to say.

mod nagle_disproofs;
mod pause;

use std::collections::VecDeque;

use trace_model::rows::{PausesTable, SegmentationTable};

use crate::bottleneck::Bottleneck;
use crate::bounded::Bounded;
use crate::finished_message::FinishedMessage;
use crate::half::Acknowledged;
use crate::segmentation::{Counted, Lull, Segmented};
use crate::serialization::Serialization;
use crate::timeouts::TIMEOUT_MIN_NS;
use nagle_disproofs::Suspicion;
use pause::{Ending, OpenPause, Opening, Pause, PeerAck, ShortSegment};

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
/// Pauses that wait for the pace of the link to show: it does with the next two segments that come at once.
const UNDECIDED_MAX: usize = 16;
/// ACKs that may have ended a pause whose length is not known yet: more than two come of a delayed one.
const UNDECIDED_ACKS_MAX: usize = 4;
/// Responses that were opened and are not complete: as many as requests wait for theirs, and the
/// interim responses of one of them.
const OPENINGS_MAX: usize = 2048;
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
    /// How long it may have stood before that link, behind what other connections were sent.
    pub queued_ns: i64,
    /// The sender of the data offered SACK on its SYN.
    pub sender_permits_sack: bool,
}

impl Path {
    /// Whether a payload of this size ends in a segment that is not full. Offload shows several
    /// segments as one packet; its last part tells.
    fn is_short(&self, bytes: u32) -> bool {
        self.segment_bytes > 0 && bytes.checked_rem(self.segment_bytes) != Some(0)
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
    suspicions: VecDeque<Suspicion>,
    shorts: VecDeque<ShortSegment>,
    acks: VecDeque<PeerAck>,
    openings: VecDeque<Opening>,
    open: Vec<OpenPause>,
    counted: Counted,
    segment_bytes: u32,
    largest_flight_bytes: u64,
    /// Pauses whose end is to be told when the pace of the link is known.
    undecided: Vec<Pause>,
    /// The slowest link, where it is before the observation point.
    behind: Serialization,
    /// The longest that it took for a segment.
    takes_ns: i64,
    link: Bottleneck,
    /// The newest ACK that the sender had, and where what it sent since begins.
    since_ack: Option<(u64, u64)>,
    /// Times that the sender sent a short segment behind full ones that were unacknowledged, which the algorithm as
    /// RFC 896 has it does not let go.
    full_disproofs: u32,
    /// Times that the sender held a short segment for the ACK of full ones, though its window had room.
    holds_behind_full: u32,
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
}

impl PauseTracker {
    /// How long the slowest link before the observation point takes for a segment of so many bytes: what is behind
    /// it comes no sooner.
    #[must_use]
    pub fn takes_ns(&self, bytes: u32, path: &Path) -> i64 {
        if path.is_nearer_to_sender() {
            return 0;
        }
        let path_ns = path.sender_rtt_ns.unwrap_or(0);
        self.behind.of_packet(bytes, path_ns)
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
        acks.saturating_add(open)
            .saturating_add(openings)
            .saturating_add(undecided) as u64
    }

    /// The receiver acknowledged new data.
    pub fn acknowledged(&mut self, ack: AckSeen, path: &Path) {
        let stream = |offset: i64| u64::try_from(offset.saturating_sub(1)).unwrap_or(0);
        let sender_rtt_ns = path.sender_rtt_ns.unwrap_or(0);
        let too_old = sender_rtt_ns
            .saturating_add(self.takes_ns)
            .saturating_add(ACK_AGE_SLACK_NS);
        // One older ACK is kept: it bounds what the next one newly acknowledges.
        while self.acks.len() >= ACKS_MAX
            || self
                .acks
                .get(1)
                .is_some_and(|second| ack.time_ns.saturating_sub(second.time_ns) > too_old)
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
        self.acks.push_back(PeerAck {
            frame: ack.frame,
            time_ns: ack.time_ns,
            before: stream(ack.acknowledged.before),
            after,
            covered_ns: ack.covered_ns,
            outstanding_segments: ack.outstanding_segments,
            outstanding_bytes: ack.outstanding_bytes,
            opens_connection: ack.acknowledged.before < 1 && after > 0,
        });
    }

    /// Data was sent again.
    pub fn retransmission(&mut self) {
        self.was_disturbed = true;
        self.largest_flight_bytes = 0;
        self.link.had_loss();
    }

    /// New data was sent.
    pub fn sent(&mut self, data: SentData, path: &Path, flight_bytes: u64) {
        let is_short = path.is_short(data.bytes);
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
            let may_be_inside = gap >= least && !self.openings.is_empty();
            if may_be_inside && self.open.len() < OPEN_PAUSES_MAX {
                self.consider(previous, data, is_short, path);
            }
            if gap >= PAUSE_MIN_NS {
                self.note_lull(previous, data, path);
            }
            if gap >= TIMEOUT_MIN_NS && self.was_idle(previous, data, path) {
                self.largest_flight_bytes = 0;
            }
            self.spacing_ns = gap.max(0);
            self.was_disturbed = false;
        }
        self.note_outstanding(data, is_short, path);
        if is_short && !data.has_fin {
            self.note_short(data, path.sender_rtt_ns.unwrap_or(0));
        }
        self.previous = Some(data);
        let is_alone = flight_bytes <= u64::from(data.bytes);
        self.link.sent(data.start, data.end, data.time_ns, is_alone);
        self.takes_ns = self.takes_ns.max(path.takes_ns);
        self.largest_flight_bytes = self
            .largest_flight_bytes
            .max(flight_bytes)
            .max(self.flight_at_sender(data, path));
    }

    /// Whether all had been acknowledged, early enough for that to have released the data.
    fn may_be_released(&self, previous: SentData, data: SentData, path: &Path) -> bool {
        let left_ns = data.time_ns.saturating_sub(path.sender_rtt_ns.unwrap_or(0));
        let acked = self.acks.iter().rev().find(|ack| ack.time_ns <= left_ns);
        acked.is_some_and(|ack| ack.after >= previous.end)
    }

    /// What its sender had in flight with this segment, at least: the ACKs that had not come to it when the
    /// segment left, which was no later than the path and the slowest link tell. A link that takes a round trip
    /// for a segment has each acknowledged before the next one is seen.
    fn flight_at_sender(&self, data: SentData, path: &Path) -> u64 {
        let took_ns = path
            .sender_rtt_ns
            .unwrap_or(0)
            .saturating_add(path.takes_ns);
        // What comes sooner behind an ACK than path and link take was not let go by that; a link that is not known
        // may take any time.
        let least_ns = if path.takes_ns > 0 {
            DISPROOF_MARGIN_NS
        } else {
            RELEASE_MAX_NS
        };
        let slack_ns = least_ns.max(took_ns / RELEASE_RTT_SHARE);
        let left_ns = data
            .time_ns
            .saturating_sub(took_ns)
            .saturating_add(slack_ns);
        let had_come = self.acks.iter().rev().find(|ack| ack.time_ns <= left_ns);
        let acked = had_come
            .map(|ack| ack.after)
            .or_else(|| self.acks.front().map(|ack| ack.before))
            .unwrap_or(data.start);
        data.end.saturating_sub(acked)
    }

    /// A message was found to start at `message_start`, in the segment just seen.
    pub fn message_opens(&mut self, message_start: u64) {
        let Some(data) = self.previous else { return };
        self.spacing_ns = 0;
        if self.openings.len() >= OPENINGS_MAX {
            self.openings.pop_front();
        }
        self.openings.push_back(Opening {
            message_start,
            end: data.end,
            frame: data.frame,
            time_ns: data.time_ns,
            counted: self.counted.before_last(),
            lull: None,
        });
    }

    /// A message is complete: its pauses become rows.
    pub fn message_ends(
        &mut self,
        message: FinishedMessage,
        rows: &mut Bounded<PausesTable>,
        segmented: &mut Bounded<SegmentationTable>,
    ) {
        let FinishedMessage { start, end, .. } = message;
        self.decide();
        let mut opening = None;
        while let Some(first) = self.openings.front().copied() {
            if first.message_start > start {
                break;
            }
            opening = (first.message_start == start).then_some(first);
            self.openings.pop_front();
        }
        if let Some(opening) = opening {
            // What was sent since belongs to the messages after it.
            let counted = match self.openings.front() {
                Some(next) => next.counted,
                None => self.counted,
            };
            let found = Segmented {
                opening_frame: opening.frame,
                opening_time_ns: opening.time_ns,
                opening_bytes: opening.end.saturating_sub(opening.message_start),
                counted: counted.since(opening.counted),
                lull: opening.lull,
                segment_bytes: self.segment_bytes,
            };
            if found.is_notable(&message) {
                segmented.push(&found.row(&message));
            }
        }
        for pause in self.open.extract_if(.., |pause| pause.released_start < end) {
            let Some(opening) = opening else { continue };
            // The time before a message is not a pause inside it.
            if pause.released_start <= start || (pause.is_behind_full && self.full_disproofs > 0) {
                continue;
            }
            rows.push(&pause.into_row(opening, message));
        }
    }

    /// Keeps the pause before `data` if it is the longest of the message that is being sent.
    fn note_lull(&mut self, previous: SentData, data: SentData, path: &Path) {
        let gap = data.time_ns.saturating_sub(previous.time_ns);
        let Some(opening) = self.openings.back_mut() else {
            return;
        };
        let is_longest = opening.lull.is_none_or(|lull| gap > lull.length_ns);
        if !is_longest || self.was_disturbed || path.in_loss_recovery {
            return;
        }
        let last_ack = self.acks.back();
        let is_acked = last_ack.is_some_and(|ack| ack.after >= previous.end);
        let since_ack_ns = last_ack.filter(|_| is_acked).map(|ack| {
            data.time_ns
                .saturating_sub(ack.time_ns)
                .saturating_sub(path.sender_rtt_ns.unwrap_or(0))
        });
        opening.lull = Some(Lull {
            start_ns: previous.time_ns,
            length_ns: gap,
            previous_frame: previous.frame,
            released_frame: data.frame,
            released_bytes: data.bytes,
            released_start: data.start,
            since_ack_ns,
            segments_before: self.counted.before_last().since(opening.counted).segments,
        });
    }

    /// Whether all had been acknowledged for longer than an ACK takes to release data: the sender may have thrown
    /// its window away (RFC 5681, section 4.1).
    fn was_idle(&self, previous: SentData, data: SentData, path: &Path) -> bool {
        let released_by = path
            .sender_rtt_ns
            .unwrap_or(0)
            .saturating_add(RELEASE_MAX_NS);
        self.acks.back().is_some_and(|ack| {
            ack.after >= previous.end && data.time_ns.saturating_sub(ack.time_ns) > released_by
        })
    }

    /// Whether a short segment left while what its sender had sent before the newest ACK was unacknowledged. What is
    /// written at once to an idle connection goes out with its short end (BSD looks whether it is idle before).
    fn note_outstanding(&mut self, data: SentData, is_short: bool, path: &Path) {
        let left_ns = data.time_ns.saturating_sub(path.sender_rtt_ns.unwrap_or(0));
        let latest_ns = left_ns.saturating_add(DISPROOF_MARGIN_NS);
        let had_come = self.acks.iter().rev().find(|ack| ack.time_ns <= latest_ns);
        let Some(acked) = had_come.map(|ack| ack.after) else {
            return;
        };
        let sent_since = match self.since_ack {
            Some((before, since)) if before == acked => since,
            _ => data.start,
        };
        self.since_ack = Some((acked, sent_since));
        let was_idle = sent_since <= acked;
        if is_short && !data.has_fin && !was_idle {
            self.full_disproofs = self.full_disproofs.saturating_add(1);
        }
    }

    /// Looks at the pause between two data segments, which an ACK may have ended. Near the receiver it is told
    /// when the pace of the link is known, at the end of the message if not before.
    fn consider(&mut self, previous: SentData, data: SentData, is_short: bool, path: &Path) {
        if path.in_loss_recovery || self.was_disturbed {
            return;
        }
        let shorts = &self.shorts;
        let short_of = |ack: &PeerAck| {
            let is_acked = |short: &&ShortSegment| short.end <= ack.after && short.end > ack.before;
            shorts.iter().rev().find(is_acked).copied()
        };
        let ending = |ack: &PeerAck| Ending {
            ack: *ack,
            short: short_of(ack),
        };
        let mut pause = Pause {
            previous,
            data,
            is_short,
            path: *path,
            spacing_ns: self.spacing_ns,
            bound_ns: 0,
            drained_ns: if path.is_nearer_to_sender() {
                self.link.drained_ns()
            } else {
                previous.time_ns
            },
            queued_until_ns: self
                .link
                .had_drained_ns(previous.end)
                .filter(|_| path.is_nearer_to_sender()),
            largest_flight_bytes: self.largest_flight_bytes,
            waits_for_all: self.waits_for_all(),
            shorts: self.counted.shorts,
            endings: Vec::new(),
        };
        let is_known = path.is_nearer_to_sender() || path.takes_ns > 0;
        if !is_known && self.undecided.len() < UNDECIDED_MAX {
            let last = self.acks.iter().rev().take(UNDECIDED_ACKS_MAX);
            pause.endings = last.map(ending).collect();
            self.undecided.push(pause);
            return;
        }
        let endings = self.acks.iter().rev().map(ending);
        if let Some(open) = pause.ended_by(endings, path.takes_ns) {
            self.holds(open);
        }
    }

    /// Whether its sender is known to hold what is short until all is acknowledged.
    fn waits_for_all(&self) -> bool {
        self.holds_behind_full > 0 && self.full_disproofs == 0
    }

    fn holds(&mut self, pause: OpenPause) {
        let count = u32::from(pause.waited_for_all);
        self.holds_behind_full = self.holds_behind_full.saturating_add(count);
        self.open.push(pause);
    }

    /// Decides on the pauses for which the pace of the link was not known.
    fn decide(&mut self) {
        if self.undecided.is_empty() {
            return;
        }
        for mut pause in std::mem::take(&mut self.undecided) {
            pause.waits_for_all = self.waits_for_all();
            let path_ns = pause.path.sender_rtt_ns.unwrap_or(0);
            let takes_ns = self.behind.of_payload(pause.data.bytes, path_ns);
            let service_ns = self.behind.of_packet(pause.data.bytes, path_ns);
            pause.bound_ns = service_ns;
            let endings = pause.endings.iter().copied();
            if let Some(open) = pause.ended_by(endings, takes_ns) {
                self.holds(open);
            }
        }
        self.open.sort_by_key(|pause| pause.released_start);
    }
}

#[cfg(test)]
mod tests;

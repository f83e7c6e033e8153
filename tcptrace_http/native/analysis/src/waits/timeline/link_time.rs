//! What data takes on the slowest link, learnt from how it came.

use tcptrace_tcp::{DELAYED_ACK_MAX_NS, DELAYED_ACK_SEGMENTS};

use super::super::acks::{Acks, Released};
use super::super::link::Least;
use super::super::link_burst::LinkBurst;
use super::super::pace::Pace;
use super::super::partition::Moment;
use super::{Data, Route, Timeline};
use crate::arrivals::Arrivals;
use crate::jitter::CLOSE_NS;
use crate::shared_windows::Standing;

/// What a link takes is known no better than to this share of it: options are as much of a segment's headers.
const PACE_VARIES_SHARE: i64 = 8;
/// A segment takes no longer on a link than a full one, by more than this share of it.
const SAME_PACE_SHARE: i64 = 50;

impl Timeline {
    /// How long the slowest link takes for a question longer than for a packet without payload: it is taken to be
    /// as slow in that direction.
    pub(in crate::waits) fn question_takes_ns(&self, bytes: u32) -> i64 {
        self.on_link_ns(bytes, 0).unwrap_or(0)
    }

    /// The way to the sender and back of packets without payload, which those of a handshake are longer than: its
    /// options take their time on a slow link. What is shorter than a handshake was measured otherwise.
    pub(in crate::waits) fn bare_way_ns(&self, route: Route) -> i64 {
        let (syn_way_ns, longer_bytes) = self.syn_way;
        let is_of_syn = syn_way_ns.is_some_and(|way_ns| route.to_sender_ns >= way_ns);
        let longer_ns = self.on_link_ns(longer_bytes, 0);
        let longer_ns = longer_ns.filter(|_| is_of_syn).unwrap_or(0);
        route.to_sender_ns.saturating_sub(longer_ns)
    }

    /// How long a request may have stood behind what its client had sent before.
    pub(in crate::waits) fn standing_ns(&self, ahead: Standing) -> i64 {
        let together_ns = (ahead.packets > 0)
            .then(|| self.on_link_ns(ahead.bytes, ahead.packets))
            .flatten();
        together_ns.unwrap_or(0).max(ahead.queued_ns)
    }

    /// How long the slowest link takes for the first segment of an answer, which went by at `time_ns`.
    pub(in crate::waits) fn opening_pace_ns(&self, time_ns: i64) -> i64 {
        let bytes = self.opening(time_ns).map(|opening| opening.bytes);
        bytes.map_or(0, |bytes| self.alone_on_link_ns(bytes))
    }

    /// ... longer than a packet without payload, as ACKs tell it: of a full one, if its length is not known.
    pub(in crate::waits) fn first_takes_ns(&self, time_ns: i64) -> i64 {
        let opening = self.opening(time_ns);
        let bytes = opening.map_or(self.full_bytes, |opening| opening.bytes);
        match self.link.if_agreed().of_payload(bytes, 1) {
            0 => self.alone_on_link_ns(bytes),
            takes_ns => takes_ns,
        }
    }

    /// ... and for a segment of so many bytes.
    pub(in crate::waits) fn alone_on_link_ns(&self, bytes: u32) -> i64 {
        let on_link = self.on_link_ns(bytes, 0);
        on_link.unwrap_or_else(|| self.takes(bytes, 1, self.full_bytes))
    }

    /// How long the first segment of an answer, which went by at `time_ns`, may have stood before the slowest link,
    /// where it came no sooner than at `from_ns`: by then that must have carried something else still.
    pub(in crate::waits) fn opening_stood_ns(&self, time_ns: i64, from_ns: i64) -> i64 {
        let opening = self.opening(time_ns);
        let opening = opening.filter(|opening| opening.begun_ns > from_ns);
        opening.map_or(0, |opening| opening.stood_ns)
    }

    /// ... as likely as not, for its server had worked first: as long as before other answers, but for no more than half
    /// of the time in which it may have come to the queue.
    pub(in crate::waits) fn opening_likely_stood_ns(&self, time_ns: i64, from_ns: i64) -> i64 {
        let stood_ns = self.opening_stood_ns(time_ns, from_ns);
        let Some(opening) = self.opening(time_ns).filter(|_| stood_ns > 0) else {
            return 0;
        };
        let room_ns = opening.begun_ns.saturating_sub(from_ns);
        let most_ns = stood_ns.min(room_ns);
        if opening.is_stamped {
            return most_ns;
        }
        let sure_ns = room_ns.saturating_sub(most_ns);
        let more_ns = self.works_ns().saturating_sub(sure_ns);
        most_ns.saturating_sub(more_ns.clamp(0, most_ns / 2))
    }

    /// How much longer the slowest link may take for data than is thought, on a path of which the round trips do not vary
    /// with its length, and if nothing stood before it there.
    pub(super) fn link_varies_ns(&self, data: Data) -> Option<i64> {
        let is_alone = data.sharing.queued_ns == 0 && !data.opens_hole;
        let is_steady = data.sharing.is_path_steady && is_alone;
        let takes_ns = self.takes(data.bytes, data.segments, data.full_bytes);
        let varies_ns = match takes_ns {
            0 => Pace::unknown_ns(data.bytes, data.full_bytes),
            takes_ns => takes_ns / PACE_VARIES_SHARE,
        };
        is_steady.then_some(varies_ns)
    }

    /// How much longer than a packet without payload a segment takes on the slowest link, as far as its pace is
    /// known: by the distances that agree on it, else by their mean, in which jitter and waits have their part.
    pub(in crate::waits) fn takes_ns(&self, bytes: u32) -> i64 {
        if let Some(takes_ns) = self.on_link_ns(bytes, 0) {
            return takes_ns;
        }
        let Some(pace) = Some(self.pace).filter(|pace| pace.is_shown()) else {
            return 0;
        };
        let bare = pace.of_bytes(0, self.full_bytes);
        pace.of_bytes(bytes, self.full_bytes).saturating_sub(bare)
    }

    /// How long a segment takes on the slowest link, where distances have agreed on it; else 0.
    pub(in crate::waits) fn is_on_link_ns(&self, bytes: u32) -> i64 {
        self.on_link_ns(bytes, 1).unwrap_or(0)
    }

    /// What the distance to the segment before tells of the slowest link: who waits for the ACK of what came
    /// before waits for a round trip, and a rhythm of delayed ACKs is no link's: others came in much less.
    pub(super) fn learn_arrivals(&mut self, data: Data, route: Route, acks: &Acks) {
        let Some((sent, _)) = self.sent else {
            return;
        };
        let gap = data.at.time_ns.saturating_sub(sent.time_ns);
        if route.is_at_sender || data.opens_hole {
            return;
        }
        if data.segments == 1 {
            self.arrivals.came_behind(gap, data.bytes);
        }
        if self.pace.is_outlasted(gap, data.segments) {
            return;
        }
        let rtt = route.rtt_ns();
        let mut arrivals = self.arrivals;
        arrivals.came_after(gap, data.bytes, data.segments, rtt);
        if arrivals == self.arrivals && self.arrivals_before.is_none() {
            // Most distances tell nothing new, and what let the data go need not be looked for.
            return;
        }
        let released = || acks.released(data.at.time_ns, data.end, route.to_sender_ns, 0);
        let late_ps = self.was_as_late(gap, data);
        if gap < rtt || late_ps.is_some() || released() == Released::ByNone {
            let start = data.start();
            self.arrivals_before =
                (arrivals != self.arrivals).then_some((start, data.end, self.arrivals));
            self.arrivals = arrivals;
            self.confirms_lateness();
            if let Some(late_ps) = late_ps {
                self.arrivals.agrees_with(late_ps);
            }
        }
    }

    /// Gaps that were taken for the application's were the pace of a slow link, on which a full segment
    /// takes `gap`. The newest may have had its part of a wait before it.
    pub(super) fn was_pace(&mut self, gap: i64) {
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

    /// What the distances of segments tell of the slowest link: those of this connection, or those of all between
    /// the two hosts if they came closer together. Each bounds from above what the link takes.
    pub(super) fn link_known(&self) -> Arrivals {
        let shared = self.shared_arrivals;
        if shared.bounds(self.arrivals) && !self.arrivals.refutes(shared) {
            self.shared_arrivals
        } else {
            self.arrivals
        }
    }

    /// What the distances of segments tell that data takes on the slowest link.
    pub(super) fn on_link_ns(&self, bytes: u32, segments: u32) -> Option<i64> {
        self.link_known().takes_ns(bytes, segments)
    }

    /// Whether data came as long after the segment before as the slowest link takes for it and for what is missing
    /// between them, which was lost behind that link: it has never paused.
    pub(super) fn is_behind_lost(&self, gap: i64, data: Data, route: Route) -> bool {
        if !data.opens_hole || route.is_at_sender {
            return false;
        }
        let start = data.start();
        let missing = start.saturating_sub(self.sent_until.max(1));
        let missing = u32::try_from(missing).unwrap_or(0);
        let bytes = data.bytes.saturating_add(missing);
        let lost_segments = missing.div_ceil(data.full_bytes.max(1));
        let segments = data.segments.saturating_add(lost_segments);
        let takes_ns = self.on_link_ns(bytes, segments);
        // A packet without payload may have been before it.
        let slack_ns = self.link_slack_ns().saturating_add(CLOSE_NS);
        takes_ns.is_some_and(|takes_ns| gap.saturating_sub(takes_ns).saturating_abs() <= slack_ns)
    }

    /// Whether data comes so long after other data that the slowest link cannot have been busy with it all the time.
    pub(super) fn is_outlasted(&self, gap: i64, data: Data) -> bool {
        let known = self.link_known();
        known.is_outlasted(gap, data.bytes, data.segments)
    }

    /// What the data of all connections between the two hosts tells of the slowest link, where this has had no more.
    pub(in crate::waits) fn link_is(&mut self, link: Arrivals) {
        if !self.settles_by_ack {
            self.shared_arrivals = link;
        }
    }

    /// Whether the slowest link may be a slow one, as far as is known.
    pub(in crate::waits) fn may_learn_link(&self) -> bool {
        self.link_known().is_open()
    }

    /// As much later a segment may come that nothing held.
    pub(super) fn link_slack_ns(&self) -> i64 {
        let known = self.link_known();
        let takes_ns = known.takes_ns(0, 1);
        takes_ns.map_or(0, |_| known.slack_ns())
    }

    /// Time that data takes on the slowest link.
    pub(super) fn takes(&self, bytes: u32, segments: u32, full_bytes: u32) -> i64 {
        if let Some(takes_ns) = self.on_link_ns(bytes, segments) {
            return takes_ns;
        }
        if segments == 1 {
            self.pace.of_bytes(bytes, full_bytes)
        } else {
            self.pace.of(segments)
        }
    }

    /// The client's ACK of the SYN-ACK came after this time, and brought so many bytes.
    pub(in crate::waits) fn shook_hands(&mut self, elapsed_ns: i64, bytes: u32, route: Route) {
        let is_least = elapsed_ns <= route.to_receiver_ns;
        if route.is_at_sender && is_least {
            self.link.shook_hands(elapsed_ns, bytes);
        }
    }

    /// The client's first data came so long after its bare ACK of the SYN-ACK.
    pub(in crate::waits) fn asked_after(&mut self, elapsed_ns: i64, bytes: u32, route: Route) {
        if route.is_at_sender {
            self.link.asked_after(elapsed_ns, bytes);
        }
    }

    /// What an ACK tells of the path and its slowest link.
    pub(super) fn learn_link(&mut self, at: Moment, acked: i64, route: Route) {
        let learnt = std::mem::replace(&mut self.learnt_until, acked);
        let from = self.pending.partition_point(|sent| sent.end <= learnt);
        let covered = self.pending.range(from..);
        let (mut was_repaired, mut newly) = (false, 0_u32);
        for sent in covered.take_while(|sent| sent.end <= acked) {
            if sent.begins_burst {
                self.burst = LinkBurst::from(sent.at.time_ns);
                let elapsed = at.time_ns.saturating_sub(sent.at.time_ns);
                if sent.end == acked && sent.stall.is_none() {
                    self.link.sample(elapsed, sent.bytes);
                }
            }
            if sent.begins_flight {
                self.flight = LinkBurst::from(sent.at.time_ns);
            }
            was_repaired |= sent.stall.is_some();
            newly = newly.saturating_add(sent.bytes);
            for burst in [&mut self.burst, &mut self.flight] {
                burst.covers(sent.at.time_ns, sent.bytes, sent.segments);
            }
        }
        if was_repaired {
            // What had come behind the loss was acknowledged when that was repaired, not when it came.
            self.burst = LinkBurst::default();
            self.flight = LinkBurst::default();
        }
        let least = Least {
            elapsed_ns: route.to_receiver_ns,
            bytes: self.link.least_bytes(route.to_receiver_ns),
        };
        let full_bytes = self.full_bytes;
        if let Some(bound) = self.burst.acknowledged(at.time_ns, least, full_bytes) {
            self.link.was_told_by(newly, full_bytes);
            self.link.learn(bound, route.to_receiver_ns);
        }
        let bound = self.flight.acknowledged(at.time_ns, least, full_bytes);
        if let Some(bound) = bound.filter(|_| self.flight.is_longer_than(self.burst)) {
            // An ACK of one segment may have been delayed, and tells then of that.
            let waited_ns = self
                .flight
                .waited_ns(at.time_ns.saturating_sub(route.to_receiver_ns));
            let is_prompt = newly >= full_bytes.saturating_mul(DELAYED_ACK_SEGMENTS)
                || waited_ns > DELAYED_ACK_MAX_NS;
            if is_prompt {
                self.link.learn(bound, route.to_receiver_ns);
            } else {
                self.link.is_busy_for(bound);
            }
        }
    }

    /// The way of the smallest packets to the receiver and back.
    pub(in crate::waits) fn way_ns(&self, route: Route) -> i64 {
        if route.is_at_sender {
            self.link.way_ns(route.to_receiver_ns)
        } else {
            route.to_receiver_ns
        }
    }

    /// The longest time that two segments together may take to come.
    pub(in crate::waits) fn burst_max_ns(&self, route: Route) -> i64 {
        let bytes = self.full_bytes.saturating_mul(DELAYED_ACK_SEGMENTS);
        let on_link = self.link.of(bytes, DELAYED_ACK_SEGMENTS);
        let most = self.pace.burst_max_ns(DELAYED_ACK_SEGMENTS, route.rtt_ns());
        most.max(on_link)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Words;
    use super::*;
    use crate::shared_windows::Sharing;

    const MS: i64 = 1_000_000;
    const FULL: u32 = 1448;

    #[test]
    fn an_answer_stood_the_shorter_the_longer_its_server_works_but_for_half_of_the_time_at_the_least(
    ) {
        for (works_ms, stood_ms) in [(0, 40), (10, 40), (30, 30), (90, 20)] {
            let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
            let sharing = Sharing {
                stood_ns: 40 * MS,
                works_ns: works_ms * MS,
                ..Sharing::default()
            };
            let data = Data {
                sharing,
                ..Data::at_ms(160, 1000)
            };
            timeline.begins_answer(data, false);
            timeline.learn_lateness(data, None, Route::default(), &Acks::default());
            let stood_ns = timeline.opening_likely_stood_ns(160 * MS, 100 * MS);
            assert_eq!(stood_ns, stood_ms * MS, "{works_ms}");
            assert_eq!(timeline.opening_likely_stood_ns(160 * MS, 170 * MS), 0);
        }
    }

    #[test]
    fn what_distances_agree_on_tells_better_than_their_mean_what_a_segment_takes() {
        let mut timeline = Timeline::new(Words::OF_RESPONSES, None);
        timeline.full_bytes = FULL;
        timeline.pace.begins_with(30 * MS);
        let by_mean_ns = timeline.takes_ns(FULL);
        let mut link = Arrivals::default();
        for _ in 0..3 {
            link.came_after(12 * MS, FULL, 1, 100 * MS);
        }
        timeline.link_is(link);
        assert!(by_mean_ns > 28 * MS && by_mean_ns < 30 * MS);
        let by_link_ns = timeline.takes_ns(FULL);
        assert!(by_link_ns > 11 * MS && by_link_ns < 12 * MS);
    }
}
